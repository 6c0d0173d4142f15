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

template <class T, class Formula>
__global__ void __launch_bounds__(kThreads)
    Step(Formula f, const __grid_constant__ Batch<2 + Formula::kStates> batch,
         Rate rate) {
  using M = Memory<T>;
  using W = Compute<T>;
  constexpr int kStates = Formula::kStates;
  constexpr int V = 16 / sizeof(M);
  const int t = batch.tensor[blockIdx.x];
  const int64_t begin = int64_t{batch.chunk[blockIdx.x]} * kChunk;
  const int64_t n = min(kChunk, batch.size[t] - begin);
  const auto factors = f.template Prepare<W>(
      rate.Read(), batch.power1[t] != nullptr ? *batch.power1[t] : 0.0f,
      batch.power2[t] != nullptr ? *batch.power2[t] : 0.0f);
  M* lists[2 + kStates];
  bool aligned = true;
#pragma unroll
  for (int k = 0; k < 2 + kStates; ++k) {
    lists[k] = reinterpret_cast<M*>(batch.data[t][k]) + begin;
    aligned = aligned && reinterpret_cast<uintptr_t>(lists[k]) % 16 == 0;
  }
  const auto apply = [&](M* const(&at)[2 + kStates], int64_t i) {
    W p = Load<W>(at[0][i]);
    W states[kStates > 0 ? kStates : 1];
#pragma unroll
    for (int k = 0; k < kStates; ++k) states[k] = Load<W>(at[2 + k][i]);
    f.Apply(factors, &p, Load<W>(at[1][i]), states);
    at[0][i] = Store<M>(p);
#pragma unroll
    for (int k = 0; k < kStates; ++k) at[2 + k][i] = Store<M>(states[k]);
  };
  int64_t done = 0;
  if (aligned) {
    done = n / V * V;
    for (int64_t i = threadIdx.x; i < n / V; i += kThreads) {
      Pack<M, V> packs[2 + kStates];
      M* at[2 + kStates];
#pragma unroll
      for (int k = 0; k < 2 + kStates; ++k) {
        packs[k] = reinterpret_cast<const Pack<M, V>*>(lists[k])[i];
        at[k] = packs[k].v;
      }
#pragma unroll
      for (int j = 0; j < V; ++j) apply(at, j);
#pragma unroll
      for (int k = 0; k < 2 + kStates; ++k) {
        if (k != 1) reinterpret_cast<Pack<M, V>*>(lists[k])[i] = packs[k];
      }
    }
  }
  for (int64_t i = done + threadIdx.x; i < n; i += kThreads) apply(lists, i);
}

template <class T, class Formula>
void Launch(const Formula& f, const Batch<2 + Formula::kStates>& batch,
            int blocks, const Rate& rate, cudaStream_t stream) {
  if (blocks == 0) return;
  Step<T, Formula><<<blocks, kThreads, 0, stream>>>(f, batch, rate);
  CheckLaunch("step of an optimizer");
}

}  // namespace step_internal

template <int kStates>
using StateLists = std::array<std::span<const Tensor>, kStates>;

// Lists have been checked; gradients are dense and contiguous. `powers`: two
// lists of one float each beside every parameter, or none.
template <class Formula>
void RunStep(const KernelContext& ctx, const Formula& f,
             std::span<const Tensor> params, std::span<const Tensor> grads,
             const StateLists<Formula::kStates>& states, const Tensor& lr,
             std::span<const Tensor> power1 = {},
             std::span<const Tensor> power2 = {}) {
  using namespace step_internal;  // NOLINT
  const cudaStream_t stream = StreamOf(ctx);
  const Rate rate = {lr.raw_data(), lr.dtype() == DType::kFloat64};
  for (const DType dtype :
       {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kFloat64}) {
    Batch<2 + Formula::kStates> batch;
    int tensors = 0, blocks = 0;
    const auto flush = [&] {
      VisitFloat(dtype, [&]<class T>(Tag<T>) {
        Launch<T>(f, batch, blocks, rate, stream);
      });
      tensors = blocks = 0;
    };
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].dtype() != dtype || params[i].numel() == 0) continue;
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
