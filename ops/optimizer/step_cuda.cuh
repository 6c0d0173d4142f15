// RunStep: the formula of an optimizer's step for all parameters of a list, in
// as few launches as their number allows.
//
//   struct SgdStep {                  // numbers of the step
//     static constexpr int kStates = 0;  // tensors beside each parameter
//     // What depends on the learning rate and, where there are powers, those.
//     template <class W> struct Factors { W step; };
//     template <class W> __device__ Factors<W> Prepare(double lr, float power1,
//                                                      float power2) const;
//     template <class W> __device__ void Apply(const Factors<W>&, W* p, W g,
//                                              W* states) const;
//   };
//   RunStep(ctx, SgdStep{...}, params, grads, {}, lr);
#ifndef PROA_OPS_OPTIMIZER_STEP_CUDA_CUH_
#define PROA_OPS_OPTIMIZER_STEP_CUDA_CUH_

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "ops/kernel.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {
namespace step_internal {

inline constexpr int kThreads = 256;
inline constexpr int64_t kChunk = 1 << 14;  // elements of a block
// What fits into a kernel's arguments (32 KiB).
inline constexpr int kMostTensors = 192;
inline constexpr int kMostBlocks = 2048;

template <int kLists>
struct Batch {
  char* data[kMostTensors][kLists];  // parameter, gradient, states
  const float* power1[kMostTensors];
  const float* power2[kMostTensors];
  char* rounded[kMostTensors];  // 16-bit copies to be written, or null
  int64_t size[kMostTensors];
  uint32_t chunk[kMostBlocks];
  uint8_t tensor[kMostBlocks];
};

// The learning rate on the device, of float or double.
struct Rate {
  const void* value;
  bool wide;
  __device__ __forceinline__ double Read() const {
    return wide ? *static_cast<const double*>(value)
                : static_cast<double>(*static_cast<const float*>(value));
  }
};

// Rounds `values` to a 16-bit copy of the parameter, at `i` of it.
template <int N, class W>
__device__ __forceinline__ void WriteRounded(char* low, bool is_half, int64_t i,
                                             const W* values) {
  const auto write = [&]<class L>(L*) {
    Pack<L, N> pack;
#pragma unroll
    for (int j = 0; j < N; ++j) pack.v[j] = Store<L>(values[j]);
    *reinterpret_cast<Pack<L, N>*>(reinterpret_cast<L*>(low) + i) = pack;
  };
  if (is_half) {
    write(static_cast<__half*>(nullptr));
  } else {
    write(static_cast<__nv_bfloat16*>(nullptr));
  }
}

// Parameters and states are of T, gradients of G.
template <class T, class G, class Formula>
__global__ void __launch_bounds__(kThreads)
    Step(Formula f, const __grid_constant__ Batch<2 + Formula::kStates> batch,
         Rate rate, double grad_scale, bool rounds_to_half) {
  using M = Memory<T>;
  using MG = Memory<G>;
  using W = Compute<T>;
  constexpr int kStates = Formula::kStates;
  constexpr int V = 16 / sizeof(M);
  const int t = batch.tensor[blockIdx.x];
  const int64_t begin = int64_t{batch.chunk[blockIdx.x]} * kChunk;
  const int64_t n = min(kChunk, batch.size[t] - begin);
  const auto factors = f.template Prepare<W>(
      rate.Read(), batch.power1[t] != nullptr ? *batch.power1[t] : 0.0f,
      batch.power2[t] != nullptr ? *batch.power2[t] : 0.0f);
  const W scale = static_cast<W>(grad_scale);
  const MG* grads = reinterpret_cast<const MG*>(batch.data[t][1]) + begin;
  char* low = batch.rounded[t];
  if (low != nullptr) low += begin * 2;
  M* lists[2 + kStates];  // that of the gradient is not used
  bool aligned = reinterpret_cast<uintptr_t>(grads) % (V * sizeof(MG)) == 0 &&
                 reinterpret_cast<uintptr_t>(low) % (V * 2) == 0;
#pragma unroll
  for (int k = 0; k < 2 + kStates; ++k) {
    lists[k] = reinterpret_cast<M*>(batch.data[t][k]) + begin;
    if (k == 1) continue;
    aligned = aligned && reinterpret_cast<uintptr_t>(lists[k]) % 16 == 0;
  }
  // Returns the new parameter.
  const auto apply = [&](M* const(&at)[2 + kStates], int64_t i, MG g) {
    W p = Load<W>(at[0][i]);
    W states[kStates > 0 ? kStates : 1];
#pragma unroll
    for (int k = 0; k < kStates; ++k) states[k] = Load<W>(at[2 + k][i]);
    f.Apply(factors, &p, Load<W>(g) * scale, states);
    at[0][i] = Store<M>(p);
#pragma unroll
    for (int k = 0; k < kStates; ++k) at[2 + k][i] = Store<M>(states[k]);
    return p;
  };
  int64_t done = 0;
  if (aligned) {
    done = n / V * V;
    for (int64_t i = threadIdx.x; i < n / V; i += kThreads) {
      Pack<M, V> packs[2 + kStates];
      M* at[2 + kStates];
#pragma unroll
      for (int k = 0; k < 2 + kStates; ++k) {
        if (k != 1) packs[k] = reinterpret_cast<const Pack<M, V>*>(lists[k])[i];
        at[k] = packs[k].v;
      }
      const auto g = reinterpret_cast<const Pack<MG, V>*>(grads)[i];
      W results[V];
#pragma unroll
      for (int j = 0; j < V; ++j) results[j] = apply(at, j, g.v[j]);
#pragma unroll
      for (int k = 0; k < 2 + kStates; ++k) {
        if (k != 1) reinterpret_cast<Pack<M, V>*>(lists[k])[i] = packs[k];
      }
      if (low != nullptr) WriteRounded<V>(low, rounds_to_half, i * V, results);
    }
  }
  for (int64_t i = done + threadIdx.x; i < n; i += kThreads) {
    const W result = apply(lists, i, grads[i]);
    if (low != nullptr) WriteRounded<1>(low, rounds_to_half, i, &result);
  }
}

template <class T, class G, class Formula>
void Launch(const Formula& f, const Batch<2 + Formula::kStates>& batch,
            int blocks, const Rate& rate, double grad_scale,
            bool rounds_to_half, cudaStream_t stream) {
  if (blocks == 0) return;
  Step<T, G, Formula><<<blocks, kThreads, 0, stream>>>(
      f, batch, rate, grad_scale, rounds_to_half);
  CheckLaunch("step of an optimizer");
}

// Types of a parameter, its gradient and its rounded copy (kBool: none), which
// those of a launch share.
struct Kinds {
  DType param, grad, rounded;
};
// The rounded copy comes with float32 parameters only, a gradient of other type
// too.
inline constexpr Kinds kKinds[] = {
    {DType::kFloat32, DType::kFloat32, DType::kBool},
    {DType::kFloat32, DType::kFloat32, DType::kFloat16},
    {DType::kFloat32, DType::kFloat32, DType::kBFloat16},
    {DType::kFloat32, DType::kFloat16, DType::kBool},
    {DType::kFloat32, DType::kFloat16, DType::kFloat16},
    {DType::kFloat32, DType::kFloat16, DType::kBFloat16},
    {DType::kFloat32, DType::kBFloat16, DType::kBool},
    {DType::kFloat32, DType::kBFloat16, DType::kFloat16},
    {DType::kFloat32, DType::kBFloat16, DType::kBFloat16},
    {DType::kBFloat16, DType::kBFloat16, DType::kBool},
    {DType::kFloat16, DType::kFloat16, DType::kBool},
    {DType::kFloat64, DType::kFloat64, DType::kBool},
};

}  // namespace step_internal

template <int kStates>
using StateLists = std::array<std::span<const Tensor>, kStates>;

// Gradients, what they count times, and 16-bit copies of the parameters that
// are to be written, if there are any.
struct Gradients {
  std::span<const Tensor> grads;
  double scale;
  std::span<const Tensor> rounded;
};

// Lists have been checked; gradients are dense and contiguous. `powers`: two
// lists of one float each beside every parameter, or none.
template <class Formula>
void RunStep(const KernelContext& ctx, const Formula& f,
             std::span<const Tensor> params, const Gradients& gradients,
             const StateLists<Formula::kStates>& states, const Tensor& lr,
             std::span<const Tensor> power1 = {},
             std::span<const Tensor> power2 = {}) {
  using namespace step_internal;  // NOLINT
  const cudaStream_t stream = StreamOf(ctx);
  const Rate rate = {lr.raw_data(), lr.dtype() == DType::kFloat64};
  const std::span<const Tensor> grads = gradients.grads;
  const std::span<const Tensor> rounded = gradients.rounded;
  for (const Kinds& kinds : kKinds) {
    Batch<2 + Formula::kStates> batch;
    int tensors = 0, blocks = 0;
    const auto flush = [&] {
      VisitFloat(kinds.param, [&]<class T>(Tag<T>) {
        VisitFloat(kinds.grad, [&]<class G>(Tag<G>) {
          if constexpr (std::is_same_v<T, G> ||
                        (std::is_same_v<T, float> && sizeof(G) == 2)) {
            Launch<T, G>(f, batch, blocks, rate, gradients.scale,
                         kinds.rounded == DType::kFloat16, stream);
          }
        });
      });
      tensors = blocks = 0;
    };
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].numel() == 0 || params[i].dtype() != kinds.param ||
          grads[i].dtype() != kinds.grad ||
          (rounded.empty() ? DType::kBool : rounded[i].dtype()) !=
              kinds.rounded) {
        continue;
      }
      const int64_t chunks = CeilDiv(params[i].numel(), kChunk);
      int t = -1;
      for (int64_t c = 0; c < chunks; ++c) {
        if (blocks == kMostBlocks || (t < 0 && tensors == kMostTensors)) {
          flush();
          t = -1;
        }
        if (t < 0) {
          t = tensors++;
          batch.data[t][0] = params[i].data<char>();
          batch.data[t][1] = grads[i].data<char>();
          for (int k = 0; k < Formula::kStates; ++k) {
            batch.data[t][2 + k] = states[k][i].template data<char>();
          }
          batch.power1[t] = power1.empty() ? nullptr : power1[i].data<float>();
          batch.power2[t] = power2.empty() ? nullptr : power2[i].data<float>();
          batch.rounded[t] =
              rounded.empty() ? nullptr : rounded[i].data<char>();
          batch.size[t] = params[i].numel();
        }
        batch.chunk[blocks] = static_cast<uint32_t>(c);
        batch.tensor[blocks++] = static_cast<uint8_t>(t);
      }
    }
    flush();
  }
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_OPTIMIZER_STEP_CUDA_CUH_
