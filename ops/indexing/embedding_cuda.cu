// Kernels of embedding.yaml.
#include <cstdint>

#include "ops/indexing/embedding_kernels.h"
#include "ops/primitives/cuda/divide.cuh"
#include "ops/primitives/cuda/gather.h"
#include "ops/primitives/cuda/index.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/scatter.h"
#include "ops/primitives/cuda/visit.cuh"
#include "ops/primitives/device/copy.h"
#include "tensor/scalar.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;

template <class Item, class Index>
__global__ void WriteOneHot(const Index* __restrict__ ids, IndexBounds bounds,
                            Item one, Item* __restrict__ out, int64_t total,
                            FlatDivider by_classes) {
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t k = by_classes.Quotient(at);
  const int64_t id = bounds.Resolve(ids[k], k);
  out[at] = id == at - k * bounds.n ? one : Item{};
}

}  // namespace

void Embedding(const KernelContext& ctx, const Tensor& x, const Tensor& weight,
               int64_t padding_idx, bool, Tensor* out) {
  RowIndex ids =
      IndexOf(ctx, "embedding", x, weight.size(0), 0, /*negative=*/false);
  ids.bounds.skipped = padding_idx;  // -1 is no id
  GatherRows(ctx, 1, weight.size(1) * ItemSize(weight.dtype()), ids,
             weight.raw_data(), out->raw_data());
}

void EmbeddingGrad(const KernelContext& ctx, const Tensor& dy, const Tensor& x,
                   const IntArray&, int64_t padding_idx, Tensor* out) {
  device::Zero(ctx, *out);
  if (dy.numel() == 0) return;
  RowIndex ids =
      IndexOf(ctx, "embedding_grad", x, out->size(0), 0, /*negative=*/false);
  ids.bounds.skipped = padding_idx;
  ScatterAddRows(ctx, dy.dtype(), 1, out->size(1), SortedRows(ctx, ids),
                 dy.raw_data(), out->raw_data());
}

void OneHot(const KernelContext& ctx, const Tensor& x, int64_t num_classes,
            DType, Tensor* out) {
  const int64_t total = out->numel();
  if (x.numel() == 0) return;
  const RowIndex ids =
      IndexOf(ctx, "one_hot", x, num_classes, x.rank(), /*negative=*/false);
  if (total == 0) return;  // no class: the CPU finds an id that is none
  const cudaStream_t stream = StreamOf(ctx);
  const Tensor one = Tensor::Empty({}, out->dtype());
  VisitDType(out->dtype(), [&]<typename T>(TypeTag<T>) {
    *one.data<T>() = Scalar(int64_t{1}).to<T>();
  });
  VisitSize(ItemSize(out->dtype()), [&]<class Item>(Tag<Item>) {
    VisitIndex(ids, [&]<class Index>(const Index* values) {
      WriteOneHot<Item, Index>
          <<<static_cast<uint32_t>(CeilDiv(total, kThreads)), kThreads, 0,
             stream>>>(values, ids.bounds,
                       *static_cast<const Item*>(one.raw_data()),
                       static_cast<Item*>(out->raw_data()), total,
                       FlatDivider(num_classes, total));
    });
  });
  CheckLaunch("one_hot");
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

}  // namespace proa::inline v0::ops::cuda
