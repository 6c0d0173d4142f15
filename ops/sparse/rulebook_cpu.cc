// Kernels of rulebook.yaml: for each matrix rows are gathered, multiplied
// together, and added where they belong. Each step is threaded for itself and
// keeps its order, so that the bits do not depend on the number of threads.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/linalg/gemm.h"
#include "ops/primitives/cpu/gather.h"
#include "ops/sparse/rulebook_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Rows multiplied at a time: what is between the steps stays in the cache.
constexpr int64_t kRows = 4096;

// Where the pairs of each matrix begin, and their number at the end.
std::vector<int64_t> StartsOf(const char* op, const Tensor& counts,
                              int64_t pairs) {
  std::vector<int64_t> starts = {0};
  VisitDType(counts.dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      for (int64_t k = 0; k < counts.numel(); ++k) {
        const int64_t count = counts.data<T>()[k];
        PROA_REQUIRE(count >= 0, op, ": count ", count, " at [", k,
                     "] is negative");
        PROA_REQUIRE(count <= pairs - starts.back(), op,
                     ": counts come to more than the ", pairs,
                     " pairs that there are; counts is ", Describe(counts));
        starts.push_back(starts.back() + count);
      }
    }
  });
  PROA_REQUIRE(starts.back() == pairs, op, ": counts come to ", starts.back(),
               "; there are ", pairs, " pairs; counts is ", Describe(counts));
  return starts;
}

Tensor Gathered(const Tensor& x, std::span<const int64_t> rows) {
  const Tensor out =
      Tensor::Empty({static_cast<int64_t>(rows.size()), x.size(1)}, x.dtype());
  GatherRows(1, x.size(0), x.size(1) * ItemSize(x.dtype()), rows, x.raw_data(),
             out.raw_data());
  return out;
}

}  // namespace

void RulebookMatmul(const KernelContext&, const Tensor& x, const Tensor& weight,
                    const Tensor& source, const Tensor& target,
                    const Tensor& counts, const IntArray&, Tensor* out) {
  const char* const op = "rulebook_matmul";
  const IndexList from(op, source, x.size(0), 0, false);
  const IndexList to(op, target, out->size(0), 0, false);
  const std::vector<int64_t> starts = StartsOf(op, counts, from.size());
  const DType dtype = out->dtype();
  const int64_t c = weight.size(1), m = weight.size(2);
  char* const data = static_cast<char*>(out->raw_data());
  std::fill(data, data + out->numel() * ItemSize(dtype), 0);
  if (out->numel() == 0) return;
  for (int64_t k = 0; k < weight.size(0); ++k) {
    for (int64_t i = starts[k]; i < starts[k + 1]; i += kRows) {
      const int64_t n = std::min(kRows, starts[k + 1] - i);
      const Tensor rows = Gathered(x, from.values().subspan(i, n));
      const Tensor products = Tensor::Empty({n, m}, dtype);
      GemmProblem p;
      p.dtype = dtype;
      p.m = n;
      p.n = m;
      p.k = c;
      p.a.data = rows.raw_data();
      p.a.row_stride = c;
      p.a.column_stride = 1;
      p.b.data = static_cast<const char*>(weight.raw_data()) +
                 k * c * m * ItemSize(dtype);
      p.b.row_stride = m;
      p.b.column_stride = 1;
      p.c = products.raw_data();
      Gemm(p);
      ScatterAddRows(dtype, 1, out->size(0), m, to.values().subspan(i, n),
                     products.raw_data(), data);
    }
  }
}

void RulebookWeightGrad(const KernelContext&, const Tensor& x, const Tensor& dy,
                        const Tensor& source, const Tensor& target,
                        const Tensor& counts, Tensor* out) {
  const char* const op = "rulebook_weight_grad";
  const IndexList from(op, source, x.size(0), 0, false);
  const IndexList to(op, target, dy.size(0), 0, false);
  const std::vector<int64_t> starts = StartsOf(op, counts, from.size());
  const DType dtype = out->dtype();
  const int64_t c = x.size(1), m = dy.size(1);
  if (out->numel() == 0) return;
  for (int64_t k = 0; k < out->size(0); ++k) {
    const int64_t i = starts[k], n = starts[k + 1] - i;
    const Tensor a = Gathered(x, from.values().subspan(i, n));
    const Tensor b = Gathered(dy, to.values().subspan(i, n));
    GemmProblem p;
    p.dtype = dtype;
    p.m = c;
    p.n = m;
    p.k = n;
    p.a.data = a.raw_data();
    p.a.row_stride = 1;
    p.a.column_stride = c;
    p.b.data = b.raw_data();
    p.b.row_stride = m;
    p.b.column_stride = 1;
    p.c = static_cast<char*>(out->raw_data()) + k * c * m * ItemSize(dtype);
    Gemm(p);
  }
}

}  // namespace proa::inline v0::ops::cpu
