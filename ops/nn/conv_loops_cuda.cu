#include "ops/nn/conv_loops_cuda.h"

#include <algorithm>
#include <cstdint>

#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/visit.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

using cudnn::ConvProblem;
using cudnn::ConvWanted;

constexpr int kThreads = 256;

// A pixel of an image [n, p0, p1, p2].
struct Pixel {
  int64_t n, at[3];
};

__device__ __forceinline__ Pixel PixelOf(int64_t i, const int64_t (&sizes)[3]) {
  Pixel p;
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    p.at[d] = i % sizes[d];
    i /= sizes[d];
  }
  p.n = i;
  return p;
}

// f(tap, position of the other pixel) for each tap of the window whose other
// pixel is inside: the input pixels that an output pixel sees, or the output
// pixels that see an input pixel.
template <bool kFromOutput, class F>
__device__ __forceinline__ void ForEachTap(const ConvProblem& g, const Pixel& p,
                                           const F& f) {
  int64_t tap = 0;
  int64_t k[3] = {0, 0, 0}, at[3];
  const auto find = [&](int d) {
    if (kFromOutput) {
      at[d] = p.at[d] * g.stride[d] + k[d] * g.dilation[d] - g.pad_before[d];
      return at[d] >= 0 && at[d] < g.in[d];
    }
    const int64_t t = p.at[d] + g.pad_before[d] - k[d] * g.dilation[d];
    at[d] = t / g.stride[d];
    return t >= 0 && t % g.stride[d] == 0 && at[d] < g.out[d];
  };
  for (k[0] = 0; k[0] < g.kernel[0]; ++k[0]) {
    const bool inside0 = find(0);
    for (k[1] = 0; k[1] < g.kernel[1]; ++k[1]) {
      const bool inside1 = inside0 && find(1);
      for (k[2] = 0; k[2] < g.kernel[2]; ++k[2], ++tap) {
        if (!inside1 || !find(2)) continue;
        const int64_t* sizes = kFromOutput ? g.in : g.out;
        f(tap,
          ((p.n * sizes[0] + at[0]) * sizes[1] + at[1]) * sizes[2] + at[2]);
      }
    }
  }
}

template <class T>
__global__ void Outputs(ConvProblem g, const Memory<T>* x, const Memory<T>* w,
                        Memory<T>* y, int64_t count) {
  using C = Compute<T>;
  const int64_t per_group = g.in_channels / g.groups;
  const int64_t taps = g.kernel[0] * g.kernel[1] * g.kernel[2];
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    const int64_t o = i % g.out_channels;
    const int64_t first = o / (g.out_channels / g.groups) * per_group;
    C sum = C(0);
    ForEachTap<true>(g, PixelOf(i / g.out_channels, g.out),
                     [&](int64_t tap, int64_t at) {
                       const Memory<T>* from = x + at * g.in_channels + first;
                       const Memory<T>* by = w + o * per_group * taps + tap;
                       for (int64_t c = 0; c < per_group; ++c) {
                         sum += Load<C>(from[c]) * Load<C>(by[c * taps]);
                       }
                     });
    y[i] = Store<Memory<T>>(sum);
  }
}

template <class T>
__global__ void Inputs(ConvProblem g, Memory<T>* x, const Memory<T>* w,
                       const Memory<T>* y, int64_t count) {
  using C = Compute<T>;
  const int64_t per_group = g.in_channels / g.groups;
  const int64_t outputs = g.out_channels / g.groups;
  const int64_t taps = g.kernel[0] * g.kernel[1] * g.kernel[2];
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    const int64_t c = i % g.in_channels;
    const int64_t first = c / per_group * outputs;
    C sum = C(0);
    ForEachTap<false>(
        g, PixelOf(i / g.in_channels, g.in), [&](int64_t tap, int64_t at) {
          const Memory<T>* from = y + at * g.out_channels + first;
          const Memory<T>* by = w + (first * per_group + c % per_group) * taps;
          for (int64_t o = 0; o < outputs; ++o) {
            sum += Load<C>(from[o]) * Load<C>(by[o * per_group * taps + tap]);
          }
        });
    x[i] = Store<Memory<T>>(sum);
  }
}

// A block for each weight.
template <class T>
__global__ void __launch_bounds__(kThreads)
    Weights(ConvProblem g, const Memory<T>* x, Memory<T>* w, const Memory<T>* y,
            int64_t count) {
  using C = Compute<T>;
  __shared__ C sums[kThreads];
  const int64_t per_group = g.in_channels / g.groups;
  const int64_t taps = g.kernel[0] * g.kernel[1] * g.kernel[2];
  const int64_t pixels = g.batch * g.out[0] * g.out[1] * g.out[2];
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const int64_t o = i / (per_group * taps);
    const int64_t c =
        o / (g.out_channels / g.groups) * per_group + i / taps % per_group;
    int64_t k[3] = {i % taps / g.kernel[2] / g.kernel[1],
                    i % taps / g.kernel[2] % g.kernel[1], i % g.kernel[2]};
    C sum = C(0);
    for (int64_t q = threadIdx.x; q < pixels; q += kThreads) {
      const Pixel p = PixelOf(q, g.out);
      int64_t at = p.n;
      bool inside = true;
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        const int64_t t =
            p.at[d] * g.stride[d] + k[d] * g.dilation[d] - g.pad_before[d];
        inside = inside && t >= 0 && t < g.in[d];
        at = at * g.in[d] + t;
      }
      if (!inside) continue;
      sum += Load<C>(x[at * g.in_channels + c]) *
             Load<C>(y[q * g.out_channels + o]);
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) w[i] = Store<Memory<T>>(sums[0]);
    __syncthreads();
  }
}

}  // namespace

void ConvLoops(const KernelContext& ctx, const ConvProblem& g, void* x,
               void* weight, void* y) {
  const cudaStream_t stream = StreamOf(ctx);
  const auto blocks = [](int64_t n) {
    return static_cast<uint32_t>(std::min(n, kMostPositions));
  };
  VisitFloat(g.dtype, [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    auto* px = static_cast<M*>(x);
    auto* pw = static_cast<M*>(weight);
    auto* py = static_cast<M*>(y);
    const int64_t taps = g.kernel[0] * g.kernel[1] * g.kernel[2];
    if (g.wanted == ConvWanted::kOutput) {
      const int64_t n =
          g.batch * g.out[0] * g.out[1] * g.out[2] * g.out_channels;
      Outputs<T><<<blocks(CeilDiv(n, kThreads)), kThreads, 0, stream>>>(
          g, px, pw, py, n);
    } else if (g.wanted == ConvWanted::kInput) {
      const int64_t n = g.batch * g.in[0] * g.in[1] * g.in[2] * g.in_channels;
      Inputs<T><<<blocks(CeilDiv(n, kThreads)), kThreads, 0, stream>>>(
          g, px, pw, py, n);
    } else {
      const int64_t n = g.out_channels * (g.in_channels / g.groups) * taps;
      Weights<T><<<blocks(n), kThreads, 0, stream>>>(g, px, pw, py, n);
    }
  });
  CheckLaunch("convolution");
  chosen_implementation = "loops";
}

}  // namespace proa::inline v0::ops::cuda
