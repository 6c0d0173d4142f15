// Kernels of rows.yaml, compiled once per instruction set.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/nn/float_copy.h"
#include "ops/nn/row_loops.h"
#include "ops/nn/softmax_rows.h"
#include "ops/sparse/groups.h"
#include "ops/sparse/rows_kernels.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

constexpr int64_t kGrain = 4096;  // elements

// line(in, n, out) for each group and column: its n elements as A.
template <typename F>
void ForEachGroup(const char* op, const Tensor& x, const Tensor& ids,
                  Tensor* out, F&& line) {
  const std::vector<int64_t> starts = cpu::GroupStarts(op, ids);
  const int64_t groups = static_cast<int64_t>(starts.size()) - 1;
  if (x.numel() == 0) return;
  const int64_t inner = x.numel() / x.size(0);
  VisitFloat(x.dtype(), [&]<typename T>(TypeTag<T>) {
    using A = typename Accumulate<T>::type;
    const T* from = x.data<T>();
    T* to = out->data<T>();
    const int64_t grain = std::max<int64_t>(1, kGrain * groups / x.numel());
    parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
      std::vector<A> in, result;
      for (int64_t k = begin; k < end; ++k) {
        const int64_t first = starts[k] * inner, n = starts[k + 1] - starts[k];
        in.resize(n);
        result.resize(n);
        for (int64_t c = 0; c < inner; ++c) {
          for (int64_t i = 0; i < n; ++i) {
            in[i] = static_cast<A>(from[first + i * inner + c]);
          }
          line(in.data(), n, result.data());
          for (int64_t i = 0; i < n; ++i) {
            to[first + i * inner + c] = static_cast<T>(result[i]);
          }
        }
      }
    });
  });
}

}  // namespace

void SegmentSoftmax(const KernelContext&, const Tensor& x, const Tensor& ids,
                    Tensor* out) {
  ForEachGroup("segment_softmax", x, ids, out,
               [](const auto* in, int64_t n, auto* result) {
                 using A = std::decay_t<decltype(*in)>;
                 SoftmaxRows(in, 1, n, A(1), result);
               });
}

void SegmentTotals(const KernelContext&, const Tensor& x, const Tensor& ids,
                   Tensor* out) {
  ForEachGroup("segment_totals", x, ids, out,
               [](const auto* in, int64_t n, auto* result) {
                 using A = std::decay_t<decltype(*in)>;
                 const A sum = SumOver<A>(n, [&](int64_t i) { return in[i]; });
                 std::fill(result, result + n, sum);
               });
}

}  // namespace proa::inline v0::ops::PROA_ISA
