#include "ops/primitives/cuda/gather.h"

#include "ops/primitives/cuda/divide.cuh"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/visit.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;

// A thread moves units that are a block apart; all its loads come before its
// stores.
template <class Unit, class Index>
__global__ void __launch_bounds__(kThreads)
    Gather(const Unit* __restrict__ x, Unit* __restrict__ out,
           const Index* __restrict__ index, IndexBounds bounds, int64_t units,
           int64_t count, int64_t total, FlatDivider by_units,
           FlatDivider by_count) {
  const int64_t first =
      int64_t{blockIdx.x} * (kThreads * kPerThread) + threadIdx.x;
  Unit v[kPerThread];
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    const int64_t at = first + j * kThreads;
    if (at >= total) break;
    const int64_t row = by_units.Quotient(at), u = at - row * units;
    const int64_t o = by_count.Quotient(row), k = row - o * count;
    const int64_t i = bounds.Resolve(index[k], k);
    v[j] = i < 0 ? Unit{} : x[(o * bounds.n + i) * units + u];
  }
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    const int64_t at = first + j * kThreads;
    if (at < total) out[at] = v[j];
  }
}

}  // namespace

void GatherRows(const KernelContext& ctx, int64_t outer, int64_t row_bytes,
                const RowIndex& index, const void* x, void* out) {
  if (outer == 0 || index.count == 0 || row_bytes == 0) return;
  const cudaStream_t stream = StreamOf(ctx);
  VisitSize(WidestUnit(row_bytes, x, out), [&]<class Unit>(Tag<Unit>) {
    VisitIndex(index, [&]<class Index>(const Index* values) {
      const int64_t units = row_bytes / static_cast<int64_t>(sizeof(Unit));
      const int64_t total = outer * index.count * units;
      Gather<Unit, Index>
          <<<static_cast<uint32_t>(CeilDiv(total, kThreads * kPerThread)),
             kThreads, 0, stream>>>(
              static_cast<const Unit*>(x), static_cast<Unit*>(out), values,
              index.bounds, units, index.count, total,
              FlatDivider(units, total), FlatDivider(index.count, total));
    });
  });
  CheckLaunch("gather");
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

}  // namespace proa::inline v0::ops::cuda
