// Kernels of messages along edges.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/graph/message_kernels.h"
#include "ops/graph/pooling.h"
#include "ops/primitives/cpu/gather.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cpu {
namespace {

void Messages(const char* op, Pool pool, const Tensor& x, const Tensor& src,
              const Tensor& dst, Tensor* out) {
  const IndexList sources(op, src, x.size(0), 0, false);
  const IndexList targets(op, dst, out->size(0), 0, false);
  if (out->numel() == 0) return;  // however many rows it has
  PoolRows(pool,
           GroupsOfEdges(sources.values(), targets.values(), out->size(0)), x,
           out);
}

// The rows of x over the number of edges that come in.
Tensor OverCounts(const Tensor& x, std::span<const int64_t> targets) {
  std::vector<int64_t> counts(x.size(0), 0);
  for (const int64_t target : targets) ++counts[target];
  const Tensor out = Tensor::Empty(x.shape(), x.dtype(), x.place());
  const int64_t inner = x.size(0) == 0 ? 0 : x.numel() / x.size(0);
  VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (IsFloat(kDTypeOf<T>)) {
      for (int64_t i = 0; i < x.numel(); ++i) {
        const double count =
            static_cast<double>(std::max<int64_t>(1, counts[i / inner]));
        out.data<T>()[i] =
            static_cast<T>(static_cast<double>(x.data<T>()[i]) / count);
      }
    }
  });
  return out;
}

}  // namespace

void GraphSum(const KernelContext&, const Tensor& x, const Tensor& src,
              const Tensor& dst, const IntArray&, bool mean, Tensor* out) {
  Messages("graph_sum", mean ? Pool::kMean : Pool::kSum, x, src, dst, out);
}

void GraphSumGrad(const KernelContext&, const Tensor& dy, const Tensor& src,
                  const Tensor& dst, const IntArray&, bool mean, Tensor* out) {
  const IndexList sources("graph_sum_grad", src, out->size(0), 0, false);
  const IndexList targets("graph_sum_grad", dst, dy.size(0), 0, false);
  if (out->numel() == 0 || dy.numel() == 0) {
    std::fill_n(out->data<char>(), out->bytes(), char{0});
    return;
  }
  PoolRows(Pool::kSum,
           GroupsOfEdges(targets.values(), sources.values(), out->size(0)),
           mean ? OverCounts(dy, targets.values()) : dy, out);
}

void GraphExtreme(const KernelContext&, const Tensor& x, const Tensor& src,
                  const Tensor& dst, const IntArray&, bool largest,
                  Tensor* out) {
  Messages("graph_extreme", largest ? Pool::kMax : Pool::kMin, x, src, dst,
           out);
}

}  // namespace proa::inline v0::ops::cpu
