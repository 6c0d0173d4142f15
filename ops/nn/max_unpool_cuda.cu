// Kernels of max_unpool.yaml. Several values for one place are taken in the
// order of the CPU's loop: a warp walks over an image of one channel, or a
// thread over one channel where these are the last dim. An index out of range
// is passed over, and thrown by the next call that waits for the device
// (tensor/cuda/fault.h).
#include "ops/int_array.h"
#include "ops/nn/images.h"
#include "ops/nn/max_unpool_kernels.h"
#include "ops/nn/pool_geometry.h"
#include "ops/nn/rows_cuda.cuh"
#include "tensor/cuda/fault.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 128;

// Indices, and who is told of those that are out of range.
struct Places {
  const int32_t* data;
  int64_t area;    // of an image
  const char* op;  // a literal
  CudaFaultSink sink;

  // -1 for none.
  __device__ __forceinline__ int32_t At(int64_t i) const {
    const int32_t at = data[i];
    if (at >= -1 && at < area) return at;
    sink.Report({CudaFault::kPlainIndex, 2, op, at, i, area, 0.0});
    return -1;
  }
};

// Into zeros: each value is added where its index says, or put there.
template <class T, bool kAdd>
__global__ void __launch_bounds__(kThreads)
    PlacePlanes(const Memory<T>* values, Places places, int64_t planes,
                int64_t outputs, Memory<T>* to) {
  using C = Compute<T>;
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t warps = int64_t{gridDim.x} * (kThreads / 32);
  for (int64_t plane = int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
       plane < planes; plane += warps) {
    Memory<T>* image = to + plane * places.area;
    for (int64_t first = 0; first < outputs; first += 32) {
      const int64_t i = plane * outputs + first + lane;
      const bool there = first + lane < outputs;
      const int32_t at = there ? places.At(i) : -1;
      const C v = there ? Load<C>(values[i]) : C(0);
      const unsigned same = __match_any_sync(kAll, at);
      C sum = C(0);
      if constexpr (kAdd) {
        // In the order of lanes.
        for (int k = 0; k < 32; ++k) {
          const C other = __shfl_sync(kAll, v, k);
          if ((same >> k & 1) != 0) sum += other;
        }
        if (at >= 0 && lane == __ffs(static_cast<int>(same)) - 1) {
          image[at] = Store<Memory<T>>(Load<C>(image[at]) + sum);
        }
      } else if (at >= 0 && lane == 31 - __clz(static_cast<int>(same))) {
        image[at] = Store<Memory<T>>(v);
      }
      __syncwarp();
    }
  }
}

template <class T, bool kAdd>
__global__ void __launch_bounds__(kThreads)
    PlaceLast(const Memory<T>* values, Places places, int64_t batch,
              int64_t channels, int64_t outputs, Memory<T>* to) {
  using C = Compute<T>;
  const int64_t count = batch * channels;
  for (int64_t t = int64_t{blockIdx.x} * kThreads + threadIdx.x; t < count;
       t += int64_t{gridDim.x} * kThreads) {
    const int64_t n = t / channels, c = t % channels;
    Memory<T>* image = to + n * places.area * channels + c;
    for (int64_t q = 0; q < outputs; ++q) {
      const int64_t i = (n * outputs + q) * channels + c;
      const int64_t at = places.At(i);
      if (at < 0) continue;
      Memory<T>* place = image + at * channels;
      const C v = Load<C>(values[i]);
      *place = Store<Memory<T>>(kAdd ? Load<C>(*place) + v : v);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    Pick(const Memory<T>* x, Places places, bool last, int64_t channels,
         int64_t outputs, int64_t count, Memory<T>* out) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    const int64_t at = places.At(i);
    if (at < 0) {
      out[i] = Store<Memory<T>>(0.0f);
      continue;
    }
    const int64_t image = (last ? i / channels : i) / outputs;
    const int64_t pixel = image * places.area + at;
    out[i] = x[last ? pixel * channels + i % channels : pixel];
  }
}

uint32_t Blocks(int64_t n, int64_t each) {
  return static_cast<uint32_t>(std::min(CeilDiv(n, each), kMostPositions));
}

template <bool kAdd>
void Place(const KernelContext& ctx, const char* op, const Tensor& values,
           const Tensor& indices, std::string_view data_format, Tensor* out) {
  const Images images(*out, data_format);
  const Tensor from = images.In(values), at = images.In(indices);
  const Tensor to = images.Out(*out);
  const PoolGeometry g =
      IndexGeometryOf(op, to.shape(), from.shape(), images.format());
  if (to.numel() == 0) return;
  const cudaStream_t stream = StreamOf(ctx);
  CheckCuda(cudaMemsetAsync(to.raw_data(), 0, static_cast<size_t>(to.bytes()),
                            stream),
            "cudaMemsetAsync");
  const int64_t planes = g.batch * g.channels;
  if (from.numel() == 0) return;
  VisitFloat(to.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    const auto* v = static_cast<const M*>(from.raw_data());
    const Places places = {static_cast<const int32_t*>(at.raw_data()),
                           g.in_pixels(), op, CudaFaultSinkOf(ctx.place.index)};
    auto* into = static_cast<M*>(to.raw_data());
    if (g.channels_last()) {
      PlaceLast<T, kAdd><<<Blocks(planes, kThreads), kThreads, 0, stream>>>(
          v, places, g.batch, g.channels, g.out_pixels(), into);
    } else {
      PlacePlanes<T, kAdd>
          <<<Blocks(planes, kThreads / 32), kThreads, 0, stream>>>(
              v, places, planes, g.out_pixels(), into);
    }
  });
  CheckLaunch(op);
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

}  // namespace

void PoolScatter(const KernelContext& ctx, const Tensor& values,
                 const Tensor& indices, const IntArray& input_shape,
                 std::string_view data_format, Tensor* out) {
  Place<true>(ctx, "pool_scatter", values, indices, data_format, out);
}

void MaxUnpool(const KernelContext& ctx, const Tensor& x, const Tensor& indices,
               std::span<const int64_t> kernel_size,
               std::span<const int64_t> stride,
               std::span<const int64_t> padding, const IntArray& output_size,
               std::string_view data_format, Tensor* out) {
  Place<false>(ctx, "max_unpool", x, indices, data_format, out);
}

void PoolGather(const KernelContext& ctx, const Tensor& x,
                const Tensor& indices, std::string_view data_format,
                Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), at = images.In(indices);
  const Tensor picked = images.Out(*out);
  const PoolGeometry g =
      IndexGeometryOf("pool_gather", in.shape(), at.shape(), images.format());
  const int64_t count = picked.numel();
  if (count == 0) return;
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    Pick<T><<<Blocks(count, kThreads), kThreads, 0, StreamOf(ctx)>>>(
        static_cast<const M*>(in.raw_data()),
        Places{static_cast<const int32_t*>(at.raw_data()), g.in_pixels(),
               "pool_gather", CudaFaultSinkOf(ctx.place.index)},
        g.channels_last(), g.channels, g.out_pixels(), count,
        static_cast<M*>(picked.raw_data()));
  });
  CheckLaunch("pool_gather");
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

}  // namespace proa::inline v0::ops::cuda
