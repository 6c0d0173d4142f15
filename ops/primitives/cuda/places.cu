#include "ops/primitives/cuda/places.h"

#include "ops/primitives/cpu/iteration.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/plan.h"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/error.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;

// Operands of a plan: the output, the index, the lines.
enum { kOut, kIndex, kLine };

// With an `Item` the element at the place is written, without one the place.
template <class Index, class Item>
__global__ void __launch_bounds__(kThreads)
    Take(char* __restrict__ out, const Index* __restrict__ index,
         int64_t position, const char* __restrict__ x, int64_t step,
         IndexBounds bounds, uint32_t n, Offsets<3> offsets) {
  const uint32_t first = blockIdx.x * (kThreads * kPerThread) + threadIdx.x;
  int64_t to[kPerThread];
  Item items[kPerThread];
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    const uint32_t at = first + j * kThreads;
    if (at >= n) break;
    int64_t offset[3];
    offsets.At(at, offset);
    to[j] = offset[kOut];
    const int64_t k = offset[kIndex] / int64_t{sizeof(Index)};
    const int64_t i = bounds.Resolve(index[k], position + k);
    items[j] =
        i < 0 ? Item{}
              : *reinterpret_cast<const Item*>(x + offset[kLine] + i * step);
  }
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    if (first + j * kThreads >= n) break;
    *reinterpret_cast<Item*>(out + to[j]) = items[j];
  }
}

template <class Index>
__global__ void __launch_bounds__(kThreads)
    List(char* __restrict__ out, const Index* __restrict__ index,
         int64_t position, int64_t line, int64_t step, IndexBounds bounds,
         uint32_t n, Offsets<3> offsets) {
  const uint32_t at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= n) return;
  int64_t offset[3];
  offsets.At(at, offset);
  const int64_t k = offset[kIndex] / int64_t{sizeof(Index)};
  const int64_t i = bounds.Resolve(index[k], position + k);
  *reinterpret_cast<int64_t*>(out + offset[kOut]) =
      i < 0 ? -1 : line + offset[kLine] + i * step;
}

Strides Times(const Strides& strides, int64_t size) {
  Strides out = strides;
  for (int64_t& s : out) s *= size;
  return out;
}

// Calls run(plan) for parts of the space that have less than 2^31 points.
template <class Run>
void ForParts(const cpu::IterationPlan& plan, const Run& run) {
  if (plan.numel == 0) return;
  if (plan.numel <= kMostPositions) return run(plan);
  Halve(plan, [&](const cpu::IterationPlan& part) { ForParts(part, run); });
}

// The lines are counted in units of `line_size` bytes, from `line` on.
template <class Run>
void ForEachPart(const PlacesSpace& space, const RowIndex& index,
                 int64_t item_size, void* out, int64_t line_size,
                 const void* line, const Run& run) {
  const int64_t index_size = index.wide ? 8 : 4;
  const Strides to = Times(ContiguousStrides(space.shape), item_size);
  const Strides from = Times(space.index, index_size);
  const Strides lines = Times(space.line, line_size);
  char* const data[] = {static_cast<char*>(out),
                        static_cast<char*>(const_cast<void*>(index.data)),
                        static_cast<char*>(const_cast<void*>(line))};
  const int64_t* const strides[] = {to.data(), from.data(), lines.data()};
  cpu::IterationPlan plan;
  cpu::PlanIteration(
      {space.shape.data(), static_cast<size_t>(space.shape.rank())}, 3, data,
      strides, &plan);
  PROA_REQUIRE(plan.rank <= kMaxDims,
               index.bounds.op == nullptr ? "index" : index.bounds.op,
               ": gpu kernels walk ", kMaxDims,
               " dims that cannot be merged, not ", plan.rank,
               "; reshape the operands first");
  ForParts(plan, run);
}

}  // namespace

void TakePlaces(const KernelContext& ctx, const PlacesSpace& space,
                const RowIndex& index, int64_t item_size, const void* x,
                void* out) {
  const cudaStream_t stream = StreamOf(ctx);
  VisitSize(item_size, [&]<class Item>(Tag<Item>) {
    VisitIndex(index, [&]<class Index>(const Index* values) {
      ForEachPart(space, index, item_size, out, item_size, x,
                  [&](const cpu::IterationPlan& plan) {
                    const auto* own =
                        reinterpret_cast<const Index*>(plan.data[kIndex]);
                    Take<Index, Item><<<static_cast<uint32_t>(CeilDiv(
                                            plan.numel, kThreads * kPerThread)),
                                        kThreads, 0, stream>>>(
                        plan.data[kOut], own, own - values, plan.data[kLine],
                        space.step * item_size, index.bounds,
                        static_cast<uint32_t>(plan.numel), OffsetsOf<3>(plan));
                    CheckLaunch("take");
                  });
    });
  });
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

void ListPlaces(const KernelContext& ctx, const PlacesSpace& space,
                const RowIndex& index, int64_t* list) {
  const cudaStream_t stream = StreamOf(ctx);
  VisitIndex(index, [&]<class Index>(const Index* values) {
    ForEachPart(
        space, index, sizeof(int64_t), list, 1, nullptr,
        [&](const cpu::IterationPlan& plan) {
          const auto* own = reinterpret_cast<const Index*>(plan.data[kIndex]);
          List<Index><<<static_cast<uint32_t>(CeilDiv(plan.numel, kThreads)),
                        kThreads, 0, stream>>>(
              plan.data[kOut], own, own - values,
              reinterpret_cast<intptr_t>(plan.data[kLine]), space.step,
              index.bounds, static_cast<uint32_t>(plan.numel),
              OffsetsOf<3>(plan));
          CheckLaunch("places");
        });
  });
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

}  // namespace proa::inline v0::ops::cuda
