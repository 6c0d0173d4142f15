// Kernels of cast.yaml.
#include <algorithm>
#include <cstdint>

#include "ops/elementwise/cast_kernels.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/primitives/cast_value.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/operands.h"
#include "ops/primitives/cuda/plan.h"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/copy.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;

// A number between memory of From and To: one conversion, rounded once.
template <class To, class From>
__device__ __forceinline__ Memory<To> Convert(Memory<From> v) {
  const Compute<From> number = Load<Compute<From>>(v);
  if constexpr (kIsHalf<To>) {
    return Store<Memory<To>>(number);
  } else {
    return static_cast<Memory<To>>(CastValue<To>(number));
  }
}

template <class To, class From>
__global__ void __launch_bounds__(kThreads)
    ConvertLinear(Memory<To>* out, const Memory<From>* in, int64_t packs,
                  int64_t n) {
  constexpr int V = 16 / std::max(sizeof(Memory<To>), sizeof(Memory<From>));
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at < packs) {
    const auto from = reinterpret_cast<const Pack<Memory<From>, V>*>(in)[at];
    Pack<Memory<To>, V> to;
#pragma unroll
    for (int k = 0; k < V; ++k) to.v[k] = Convert<To, From>(from.v[k]);
    reinterpret_cast<Pack<Memory<To>, V>*>(out)[at] = to;
  }
  const int64_t rest = packs * V + at;
  if (rest < n) out[rest] = Convert<To, From>(in[rest]);
}

template <class To, class From>
__global__ void __launch_bounds__(kThreads)
    ConvertStrided(char* out, const char* in, uint32_t n, Offsets<2> offsets) {
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const uint32_t at = (blockIdx.x * kPerThread + k) * kThreads + threadIdx.x;
    if (at >= n) return;
    int64_t offset[2];
    offsets.At(at, offset);
    *reinterpret_cast<Memory<To>*>(out + offset[0]) = Convert<To, From>(
        *reinterpret_cast<const Memory<From>*>(in + offset[1]));
  }
}

template <class To, class From>
void Run(const cpu::IterationPlan& plan, cudaStream_t stream) {
  if (plan.numel == 0) return;
  constexpr int64_t kTo = sizeof(Memory<To>), kFrom = sizeof(Memory<From>);
  constexpr int64_t V = 16 / std::max(kTo, kFrom);
  if (plan.IsLinear(0, kTo) && plan.IsLinear(1, kFrom)) {
    const bool aligned =
        reinterpret_cast<uintptr_t>(plan.data[0]) % (kTo * V) == 0 &&
        reinterpret_cast<uintptr_t>(plan.data[1]) % (kFrom * V) == 0;
    const int64_t packs = aligned ? plan.numel / V : 0;
    const int64_t threads = std::max(packs, plan.numel - packs * V);
    ConvertLinear<To, From><<<static_cast<uint32_t>(CeilDiv(threads, kThreads)),
                              kThreads, 0, stream>>>(
        reinterpret_cast<Memory<To>*>(plan.data[0]),
        reinterpret_cast<const Memory<From>*>(plan.data[1]), packs, plan.numel);
    return CheckLaunch("cast");
  }
  if (plan.numel > kMostPositions) {
    return Halve(plan, [stream](const cpu::IterationPlan& part) {
      Run<To, From>(part, stream);
    });
  }
  ConvertStrided<To, From>
      <<<static_cast<uint32_t>(CeilDiv(plan.numel, kThreads * kPerThread)),
         kThreads, 0, stream>>>(plan.data[0], plan.data[1],
                                static_cast<uint32_t>(plan.numel),
                                OffsetsOf<2>(plan));
  CheckLaunch("cast");
}

}  // namespace

void Cast(const KernelContext& ctx, const Tensor& x, DType dtype, Tensor* out) {
  if (x.dtype() == out->dtype()) return Assign(ctx, x, out);
  if (IsComplex(out->dtype())) {  // rare, so on the host
    const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
    return CopyInto(cast(CopyTo(x, Place{}), out->dtype()), *out);
  }
  const Operands operands({out, &x});
  const cudaStream_t stream = StreamOf(ctx);
  VisitReal(out->dtype(), [&]<class To>(Tag<To>) {
    VisitReal(x.dtype(), [&]<class From>(Tag<From>) {
      if constexpr (!std::is_same_v<To, From>) {
        Run<To, From>(operands.plan, stream);
      }
    });
  });
}

void Assign(const KernelContext&, const Tensor& x, Tensor* out) {
  CopyInto(x, *out);
}

}  // namespace proa::inline v0::ops::cuda
