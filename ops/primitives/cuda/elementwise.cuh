// RunElementwise: an elementwise kernel from a formula, on a GPU. The formulas
// are those of the CPU (ops/primitives/cpu/loops.h says what they may have;
// Block and kCost count for nothing here).
//
// Contiguous operands are read and written 16 bytes at a time; others, and
// broadcast ones, by offsets. The order of operations is that of the CPU, and
// sources are compiled without contraction to fused multiply-adds, so that
// float results have the same bits where a formula calls no library function.
#ifndef PROA_OPS_PRIMITIVES_CUDA_ELEMENTWISE_CUH_
#define PROA_OPS_PRIMITIVES_CUDA_ELEMENTWISE_CUH_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ops/kernel.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/operands.h"
#include "ops/primitives/cuda/plan.h"
#include "ops/primitives/formula.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {
namespace elementwise_internal {

inline constexpr int kThreads = 256;
inline constexpr int kPerThread = 4;

// Operand i is read from `data`, unless its bit says that it is one number:
// on the device, or on the host, in which case it comes along in `values`.
template <int kOperands>
struct Pointers {
  char* data[kOperands];
  uint64_t values[kOperands];
  uint32_t host = 0, uniform = 0;
};

template <class M>
__device__ __forceinline__ M FromBits(uint64_t bits) {
  M m;
  memcpy(&m, &bits, sizeof(M));
  return m;
}

// V elements of operand `i`, the pack number `at`.
template <class M, int V, int kOperands>
__device__ __forceinline__ Pack<M, V> LoadPack(const Pointers<kOperands>& p,
                                               int i, int64_t at) {
  if (((p.host | p.uniform) >> i & 1) == 0) {
    return reinterpret_cast<const Pack<M, V>*>(p.data[i])[at];
  }
  const M one = (p.host >> i & 1) != 0 ? FromBits<M>(p.values[i])
                                       : *reinterpret_cast<const M*>(p.data[i]);
  Pack<M, V> pack;
#pragma unroll
  for (int k = 0; k < V; ++k) pack.v[k] = one;
  return pack;
}

// The type of elements of T in memory that are computed in C: those of another
// type (a condition) lie in their own.
template <class T, class C, class In>
using Stored = Memory<std::conditional_t<std::is_same_v<In, C>, T, In>>;

template <class T, class Formula, class... In>
struct Kernels {
  using C = Compute<T>;
  using R =
      decltype(std::declval<const Formula&>().Apply(std::declval<In>()...));
  using Out = Stored<T, C, R>;
  static constexpr int kOperands = 1 + sizeof...(In);
  static constexpr int64_t kWidest =
      std::max({sizeof(Out), sizeof(Stored<T, C, In>)...});
  static constexpr int kVector = static_cast<int>(16 / kWidest);
};

template <class T, class Formula, class... In>
__global__ void __launch_bounds__(kThreads)
    Linear(Formula f, Pointers<1 + sizeof...(In)> p, int64_t packs, int64_t n) {
  using K = Kernels<T, Formula, In...>;
  using C = typename K::C;
  using Out = typename K::Out;
  constexpr int V = K::kVector;
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  [&]<size_t... i>(std::index_sequence<i...>) {
    if (at < packs) {
      const std::tuple<Pack<Stored<T, C, In>, V>...> in = {
          LoadPack<Stored<T, C, In>, V>(p, i + 1, at)...};
      Pack<Out, V> out;
#pragma unroll
      for (int k = 0; k < V; ++k) {
        out.v[k] = Store<Out>(f.Apply(Load<In>(std::get<i>(in).v[k])...));
      }
      reinterpret_cast<Pack<Out, V>*>(p.data[0])[at] = out;
    }
    // The elements behind the last pack.
    const int64_t rest = packs * V + at;
    if (rest < n) {
      reinterpret_cast<Out*>(p.data[0])[rest] = Store<Out>(f.Apply(
          Load<In>(LoadPack<Stored<T, C, In>, 1>(p, i + 1, rest).v[0])...));
    }
  }
  (std::index_sequence_for<In...>{});
}

template <class T, class Formula, class... In>
__global__ void __launch_bounds__(kThreads)
    Strided(Formula f, Pointers<1 + sizeof...(In)> p, uint32_t n,
            Offsets<1 + sizeof...(In)> offsets) {
  using K = Kernels<T, Formula, In...>;
  using C = typename K::C;
  using Out = typename K::Out;
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const uint32_t at = (blockIdx.x * kPerThread + k) * kThreads + threadIdx.x;
    if (at >= n) return;
    int64_t offset[K::kOperands];
    offsets.At(at, offset);
    [&]<size_t... i>(std::index_sequence<i...>) {
      *reinterpret_cast<Out*>(p.data[0] + offset[0]) = Store<Out>(
          f.Apply(Load<In>((p.host >> (i + 1) & 1) != 0
                               ? FromBits<Stored<T, C, In>>(p.values[i + 1])
                               : *reinterpret_cast<const Stored<T, C, In>*>(
                                     p.data[i + 1] + offset[i + 1]))...));
    }
    (std::index_sequence_for<In...>{});
  }
}

template <class T, class Formula, class... In>
void Launch(const Formula& f, const cpu::IterationPlan& plan, uint32_t host,
            cudaStream_t stream) {
  using K = Kernels<T, Formula, In...>;
  using C = typename K::C;
  constexpr int kOperands = K::kOperands;
  if (plan.numel == 0) return;
  const int64_t sizes[] = {sizeof(typename K::Out),
                           sizeof(Stored<T, C, In>)...};
  Pointers<kOperands> p;
  p.host = host;
  bool linear = true, aligned = true;
  for (int op = 0; op < kOperands; ++op) {
    p.data[op] = plan.data[op];
    if ((host >> op & 1) != 0) {
      std::memcpy(&p.values[op], plan.data[op], static_cast<size_t>(sizes[op]));
      continue;
    }
    if (op > 0 && IsUniform(plan, op)) {
      p.uniform |= uint32_t{1} << op;
      continue;
    }
    linear = linear && plan.IsLinear(op, sizes[op]);
    aligned =
        aligned && reinterpret_cast<uintptr_t>(plan.data[op]) %
                           static_cast<uintptr_t>(sizes[op] * K::kVector) ==
                       0;
  }
  if (linear) {
    const int64_t packs = aligned ? plan.numel / K::kVector : 0;
    const int64_t threads = std::max(packs, plan.numel - packs * K::kVector);
    Linear<T, Formula, In...>
        <<<static_cast<uint32_t>(CeilDiv(threads, kThreads)), kThreads, 0,
           stream>>>(f, p, packs, plan.numel);
    return CheckLaunch("elementwise kernel");
  }
  if (plan.numel > kMostPositions) {
    return Halve(plan, [&](const cpu::IterationPlan& part) {
      Launch<T, Formula, In...>(f, part, host, stream);
    });
  }
  Strided<T, Formula, In...>
      <<<static_cast<uint32_t>(CeilDiv(plan.numel, kThreads * kPerThread)),
         kThreads, 0, stream>>>(f, p, static_cast<uint32_t>(plan.numel),
                                OffsetsOf<kOperands>(plan));
  CheckLaunch("elementwise kernel");
}

}  // namespace elementwise_internal

// For sources that nvcc compiles. `out` is of the dtype that the formula gives;
// `ins` of others than it takes are converted first. A number of an operand may
// lie on the host (front_door.h, PrepareOperand).
template <class T, class Formula, class... Ins>
void RunElementwise(const KernelContext& ctx, const Formula& formula,
                    Tensor* out, const Ins&... ins) {
  using namespace elementwise_internal;  // NOLINT
  using C = Compute<T>;
  const auto f = BindFormula<C>(formula);
  using Bound = std::remove_const_t<decltype(f)>;
  [&]<class... In>(std::tuple<In...>*) {
    // A condition may be of any type; what counts is whether it is true.
    const Operands operands(
        {out, &ins...},
        {out->dtype(),
         kDTypeOf<std::conditional_t<std::is_same_v<In, C>, T, In>>...});
    Launch<T, Bound, In...>(f, operands.plan, operands.host, StreamOf(ctx));
  }(static_cast<FormulaInputs<C, Formula, Ins...>*>(nullptr));
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_ELEMENTWISE_CUH_
