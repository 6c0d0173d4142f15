// Batches of matrices: tensors [..., M, N], one matrix at a time, in parallel.
#ifndef PROA_OPS_LINALG_MATRIX_BATCH_H_
#define PROA_OPS_LINALG_MATRIX_BATCH_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// The last two dims and how many matrices there are.
struct MatrixBatch {
  explicit MatrixBatch(const Tensor& x);
  int64_t rows, columns, count;
  int64_t size() const { return rows * columns; }
  int64_t smaller() const { return std::min(rows, columns); }
};

// Which matrix of x, whose batch dims broadcast to those of `out`, belongs to
// each matrix of `out`.
class BroadcastBatch {
 public:
  BroadcastBatch(const Tensor& x, const Tensor& out);
  int64_t operator()(int64_t index) const;

 private:
  int dims_ = 0;
  int64_t sizes_[kMaxRank] = {}, steps_[kMaxRank] = {};
};

// "the matrix", or "the matrix at [1, 0] of the batch" of [2, 3, n, n].
std::string NameMatrix(const Tensor& x, int64_t index);

// Calls f(begin, end) for ranges of `count` matrices, of about `work`
// multiplications each. Each matrix is one thread's.
template <typename F>
void ForMatrices(int64_t count, double work, F&& f) {
  const double each = std::clamp(work, 1.0, 1e6);
  parallel_for(0, count, 1 + static_cast<int64_t>(30000 / each), f);
}

// Calls f(T{}) for the element types that are factored.
template <typename F>
void VisitFactored(DType dtype, F&& f) {
  VisitDType(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                  std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      f(T{});
    } else {
      ThrowTypeError(
          "matrices are factored in float32, float64, complex64 and "
          "complex128, not " +
          std::string(Name(dtype)));
    }
  });
}

// Identity matrices [..., M, N].
template <typename T>
void FillIdentity(Tensor* out) {
  const MatrixBatch to(*out);
  std::fill_n(out->data<T>(), out->numel(), T(0));
  for (int64_t i = 0; i < to.count; ++i) {
    for (int64_t k = 0; k < to.smaller(); ++k) {
      out->data<T>()[i * to.size() + k * (to.columns + 1)] = T(1);
    }
  }
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_MATRIX_BATCH_H_
