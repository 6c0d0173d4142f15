// Sums over the channels of images on a GPU, and a walk over all elements with
// the channel of each: what the kernels of batch normalization are made of.
//
// Partial sums are of at most kMostRows elements a thread and meet in double,
// in an order that depends on sizes alone.
#ifndef PROA_OPS_NN_CHANNELS_CUDA_CUH_
#define PROA_OPS_NN_CHANNELS_CUDA_CUH_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "ops/nn/rows_cuda.cuh"
#include "ops/nn/window.h"

namespace proa::inline v0::ops::cuda {

// x as [batch, channels, inner], or [batch, channels] with channels last.
struct Channels {
  int64_t batch = 1, channels = 1, inner = 1;
  bool last = false;

  __host__ __device__ int64_t count() const { return batch * inner; }
  int64_t numel() const { return batch * channels * inner; }
  // Where element q of channel c lies.
  __device__ __forceinline__ int64_t Offset(int64_t q, int64_t c) const {
    if (last) return q * channels + c;
    if (batch == 1) return c * inner + q;
    return (q / inner * channels + c) * inner + q % inner;
  }
  // The channel of the element at `offset`.
  __device__ __forceinline__ int64_t ChannelAt(int64_t offset) const {
    if (((offset | inner | channels) >> 32) == 0) {
      const auto at = static_cast<uint32_t>(offset);
      return last ? at % static_cast<uint32_t>(channels)
                  : at / static_cast<uint32_t>(inner) %
                        static_cast<uint32_t>(channels);
    }
    return last ? offset % channels : offset / inner % channels;
  }
};

inline Channels ChannelsOf(const Tensor& x, std::string_view data_format) {
  Channels l;
  l.last = ChannelDimOf(x.rank(), data_format) == x.rank() - 1;
  if (l.last) {
    for (int d = 0; d + 1 < x.rank(); ++d) l.batch *= x.size(d);
    l.channels = x.size(x.rank() - 1);
  } else {
    l.batch = x.size(0);
    l.channels = x.size(1);
    for (int d = 2; d < x.rank(); ++d) l.inner *= x.size(d);
  }
  return l;
}

namespace channels_internal {

inline constexpr int kThreads = 256;
inline constexpr int64_t kMostRows = 256;

// A block has blockDim.x packs of channels (one channel, where these are not
// the last dim) and blockDim.y threads along each.
template <class C, int V, bool kLast, class Source>
__global__ void __launch_bounds__(kThreads)
    SumParts(Source source, Channels l, int64_t part_size, double* partial) {
  const int64_t c =
      (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * (kLast ? V : 1);
  const int64_t begin = blockIdx.y * part_size;
  const int64_t end = min(begin + part_size, l.count());
  C a[V] = {}, b[V] = {};
  if (c < l.channels) {
    typename Source::Channel channel[kLast ? V : 1];
#pragma unroll
    for (int k = 0; k < (kLast ? V : 1); ++k) {
      channel[k] = source.At(c + k, l);
    }
    constexpr int kStep = kLast ? 1 : V;
    for (int64_t q = begin + int64_t{threadIdx.y} * kStep; q < end;
         q += int64_t{blockDim.y} * kStep) {
      source.template Take<V>(channel, l.Offset(q, c), a, b);
    }
  }
  if constexpr (!kLast) {
#pragma unroll
    for (int k = 1; k < V; ++k) {
      a[0] += a[k];
      b[0] += b[k];
    }
  }
  __shared__ TwoSums<double> sums[kThreads];
  const int width = static_cast<int>(blockDim.x);
  const int t = static_cast<int>(threadIdx.y) * width + threadIdx.x;
#pragma unroll
  for (int k = 0; k < (kLast ? V : 1); ++k) {
    sums[t] = {static_cast<double>(a[k]), static_cast<double>(b[k])};
    __syncthreads();
    for (int half = static_cast<int>(blockDim.y) / 2; half > 0; half /= 2) {
      if (static_cast<int>(threadIdx.y) < half) {
        sums[t] = sums[t] + sums[t + half * width];
      }
      __syncthreads();
    }
    if (threadIdx.y == 0 && c < l.channels) {
      double* to = partial + blockIdx.y * 2 * l.channels + c + k;
      to[0] = sums[t].a;
      to[l.channels] = sums[t].b;
    }
    __syncthreads();
  }
}

inline constexpr int kJoined = 8, kJoiners = 32;

// finish(c, sums of channel c) after its parts have been added up.
template <class Finish>
__global__ void __launch_bounds__(kJoined* kJoiners)
    JoinParts(Finish finish, const double* partial, int64_t parts,
              int64_t channels) {
  __shared__ TwoSums<double> sums[kJoiners][kJoined];
  const int64_t c = int64_t{blockIdx.x} * kJoined + threadIdx.x;
  TwoSums<double> sum = {0, 0};
  if (c < channels) {
    for (int64_t p = threadIdx.y; p < parts; p += kJoiners) {
      const double* from = partial + p * 2 * channels + c;
      sum = sum + TwoSums<double>{from[0], from[channels]};
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  for (int half = kJoiners / 2; half > 0; half /= 2) {
    if (threadIdx.y < half) {
      sums[threadIdx.y][threadIdx.x] = sums[threadIdx.y][threadIdx.x] +
                                       sums[threadIdx.y + half][threadIdx.x];
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && c < channels) finish(c, sums[0][threadIdx.x]);
}

template <int V, class Writer>
__global__ void __launch_bounds__(kThreads)
    WriteAll(Writer writer, Channels l, int64_t packs) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < packs;
       i += int64_t{gridDim.x} * kThreads) {
    writer.template Write<V>(l.ChannelAt(i * V), l.last ? 1 : 0, i * V);
  }
}

}  // namespace channels_internal

// Two sums over each channel, and what is made of them:
//
//   struct Source {
//     struct Channel {..};                              // what it needs of c
//     Channel At(int64_t c, const Channels&) const;
//     // Adds elements [offset, offset + V): lane k belongs to channel[k], or
//     // all of them to the only one.
//     template <int V, int N> void Take(const Channel (&channel)[N],
//                                       int64_t offset, C (&a)[V], C (&b)[V]);
//   };
//   struct Finish { void operator()(int64_t c, TwoSums<double>) const; };
//
// `aligned`: whether all images lie at multiples of 16 bytes.
template <class M, class C, class Source, class Finish>
void SumChannels(const KernelContext& ctx, const Channels& l, bool aligned,
                 const Source& source, const Finish& finish) {
  using namespace channels_internal;  // NOLINT
  if (l.channels == 0) return;
  const cudaStream_t stream = StreamOf(ctx);
  VisitWidth<M>(l.last ? l.channels : l.inner, aligned, [&]<int V>(Number<V>) {
    const int64_t packs = l.last ? l.channels / V : l.channels;
    int width = 1;
    while (l.last && width < 32 && width < packs) width *= 2;
    const int height = kThreads / width;
    const int64_t blocks = CeilDiv(packs, width);
    const int64_t unit = int64_t{height} * (l.last ? 1 : V);
    const int64_t rounds = std::max<int64_t>(CeilDiv(l.count(), unit), 1);
    // Enough blocks for the machine, of 4 rounds at least.
    int64_t parts =
        std::min(CeilDiv(4 * NumMultiprocessors(), blocks), CeilDiv(rounds, 4));
    parts = std::max(parts, CeilDiv(rounds, kMostRows));
    parts = std::clamp<int64_t>(parts, 1, 65535);
    const int64_t part_size = CeilDiv(rounds, parts) * unit;
    parts = std::max<int64_t>(CeilDiv(l.count(), part_size), 1);
    const Workspace partial(
        ctx, parts * 2 * l.channels * static_cast<int64_t>(sizeof(double)));
    const dim3 grid(static_cast<uint32_t>(blocks),
                    static_cast<uint32_t>(parts));
    const dim3 block(static_cast<uint32_t>(width),
                     static_cast<uint32_t>(height));
    if (l.last) {
      SumParts<C, V, true><<<grid, block, 0, stream>>>(source, l, part_size,
                                                       partial.as<double>());
    } else {
      SumParts<C, V, false><<<grid, block, 0, stream>>>(source, l, part_size,
                                                        partial.as<double>());
    }
    CheckLaunch("sums of channels");
    JoinParts<<<static_cast<uint32_t>(CeilDiv(l.channels, kJoined)),
                dim3(kJoined, kJoiners), 0, stream>>>(
        finish, partial.as<double>(), parts, l.channels);
    CheckLaunch("sums of channels");
  });
}

// writer.Write<V>(c, step, offset) for all elements, V at a time: lane k
// belongs to channel c + k * step.
template <class M, class Writer>
void WriteChannels(const KernelContext& ctx, const Channels& l, bool aligned,
                   const Writer& writer) {
  using namespace channels_internal;  // NOLINT
  if (l.numel() == 0) return;
  VisitWidth<M>(l.last ? l.channels : l.inner, aligned, [&]<int V>(Number<V>) {
    const int64_t packs = l.numel() / V;
    const int64_t blocks = std::min(CeilDiv(packs, kThreads), kMostPositions);
    WriteAll<V><<<static_cast<uint32_t>(blocks), kThreads, 0, StreamOf(ctx)>>>(
        writer, l, packs);
  });
  CheckLaunch("batch_norm");
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_NN_CHANNELS_CUDA_CUH_
