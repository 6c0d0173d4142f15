// Kernels of max_pool.yaml, avg_pool.yaml and adaptive_pool.yaml. A thread
// makes some neighbouring channels of one pixel of the result; gradients are
// gathered from the windows that saw an element, so that nothing is added by
// two threads.
#include <limits>
#include <optional>

#include "ops/int_array.h"
#include "ops/nn/adaptive_pool_kernels.h"
#include "ops/nn/avg_pool_kernels.h"
#include "ops/nn/images.h"
#include "ops/nn/max_pool_kernels.h"
#include "ops/nn/pool_geometry.h"
#include "ops/nn/rows_cuda.cuh"
#include "tensor/error.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;

// PoolGeometry for device code.
struct Windows {
  int64_t batch, channels;
  bool last, adaptive;
  int64_t in[3], out[3], kernel[3], stride[3], before[3], after[3];

  explicit Windows(const PoolGeometry& g)
      : batch(g.batch),
        channels(g.channels),
        last(g.channels_last()),
        adaptive(g.adaptive) {
    for (int d = 0; d < 3; ++d) {
      in[d] = g.in[d];
      out[d] = g.out[d];
      kernel[d] = g.window.kernel[d];
      stride[d] = g.window.stride[d];
      before[d] = g.window.pad_before[d];
      after[d] = g.window.pad_after[d];
    }
  }
  int64_t numel(const int64_t (&size)[3]) const {
    return batch * channels * size[0] * size[1] * size[2];
  }

#ifdef __CUDACC__
  // The input positions [begin, end) that output position i of dim d sees.
  __device__ __forceinline__ void Range(int d, int64_t i, int64_t* begin,
                                        int64_t* end) const {
    if (adaptive) {
      *begin = i * in[d] / out[d];
      *end = ((i + 1) * in[d] + out[d] - 1) / out[d];
    } else {
      const int64_t first = i * stride[d] - before[d];
      *begin = first > 0 ? first : 0;
      *end = min(first + kernel[d], in[d]);
    }
  }
  // The output positions [begin, end) that see input position i of dim d.
  __device__ __forceinline__ void Seeing(int d, int64_t i, int64_t* begin,
                                         int64_t* end) const {
    if (adaptive) {
      *begin = i * out[d] / in[d];
      *end = ((i + 1) * out[d] + in[d] - 1) / in[d];
    } else {
      const int64_t t = i + before[d];
      *begin = t < kernel[d] ? 0 : (t - kernel[d]) / stride[d] + 1;
      *end = min(t / stride[d] + 1, out[d]);
    }
  }
  // By how many positions of dim d the mean at output position i divides.
  __device__ __forceinline__ int64_t Counted(int d, int64_t i,
                                             bool exclusive) const {
    int64_t begin, end;
    Range(d, i, &begin, &end);
    if (exclusive || adaptive) return end > begin ? end - begin : 0;
    const int64_t first = i * stride[d] - before[d];
    return min(kernel[d], in[d] + after[d] - first);
  }
#endif
};

// A pixel of an image of some size: where its elements lie.
struct Place {
  int64_t at[3];
  int64_t image;    // elements before the pixels of this image and channel
  int64_t channel;  // the first, of channels-last images; else 0
};

// Element i, where V channels count as one; `size` is that of the images.
template <int V>
__device__ __forceinline__ Place PlaceOf(const Windows& w, int64_t i,
                                         const int64_t (&size)[3]) {
  Place p;
  p.channel = 0;
  if (w.last) {
    p.channel = i % (w.channels / V) * V;
    i /= w.channels / V;
  }
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    p.at[d] = i % size[d];
    i /= size[d];
  }
  p.image = i;
  return p;
}

// Where the element of pixel `q` lies.
__device__ __forceinline__ int64_t OffsetOf(const Windows& w, const Place& p,
                                            int64_t q,
                                            const int64_t (&size)[3]) {
  const int64_t pixel = p.image * (size[0] * size[1] * size[2]) + q;
  return w.last ? pixel * w.channels + p.channel : pixel;
}

// f(q) for the pixels q of images of `size` within [begin, end).
template <class F>
__device__ __forceinline__ void ForEachPixel(const int64_t (&begin)[3],
                                             const int64_t (&end)[3],
                                             const int64_t (&size)[3],
                                             const F& f) {
  for (int64_t a = begin[0]; a < end[0]; ++a) {
    for (int64_t b = begin[1]; b < end[1]; ++b) {
      const int64_t row = (a * size[1] + b) * size[2];
      for (int64_t c = begin[2]; c < end[2]; ++c) f(row + c);
    }
  }
}

// Floats as integers of the same order: -0 below +0, NaN above all.
__device__ __forceinline__ int32_t KeyOf(float v) {
  const int32_t bits = __float_as_int(v);
  return v != v ? std::numeric_limits<int32_t>::max()
                : bits ^ ((bits >> 31) & std::numeric_limits<int32_t>::max());
}
__device__ __forceinline__ int64_t KeyOf(double v) {
  const int64_t bits = __double_as_longlong(v);
  return v != v ? std::numeric_limits<int64_t>::max()
                : bits ^ ((bits >> 63) & std::numeric_limits<int64_t>::max());
}

// The lowest number of T, the maximum of nothing.
template <class T>
struct LowestOf {
  static constexpr double value =
      std::is_same_v<T, float16> ? -65504.0
      : std::is_same_v<T, bfloat16>
          ? -0x1.FEp127
          : static_cast<double>(std::numeric_limits<T>::lowest());
};

// Maxima to `out` and their places to `indices`, unless null.
template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    Maxima(Windows w, const Memory<T>* x, int64_t count, Memory<T>* out,
           int32_t* indices) {
  using C = Compute<T>;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    const Place p = PlaceOf<V>(w, i, w.out);
    int64_t begin[3], end[3];
#pragma unroll
    for (int d = 0; d < 3; ++d) w.Range(d, p.at[d], &begin[d], &end[d]);
    C best[V];
    int32_t at[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
      best[k] = static_cast<C>(LowestOf<T>::value);
      at[k] = -1;
    }
    ForEachPixel(begin, end, w.in, [&](int64_t q) {
      C v[V];
      ReadPack(x + OffsetOf(w, p, q, w.in), v);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        if (at[k] < 0 || KeyOf(v[k]) > KeyOf(best[k])) {
          best[k] = v[k];
          at[k] = static_cast<int32_t>(q);
        }
      }
    });
    const int64_t to = i * V;
    if (out != nullptr) WritePack<Memory<T>, V>(out + to, best);
    if (indices != nullptr) {
#pragma unroll
      for (int k = 0; k < V; ++k) indices[to + k] = at[k];
    }
  }
}

// The sum of grad_out over the windows whose maximum is here.
template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    MaxGrad(Windows w, const Memory<T>* grad_out, const int32_t* indices,
            int64_t count, Memory<T>* x_grad) {
  using C = Compute<T>;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    const Place p = PlaceOf<V>(w, i, w.in);
    const auto here =
        static_cast<int32_t>((p.at[0] * w.in[1] + p.at[1]) * w.in[2] + p.at[2]);
    int64_t begin[3], end[3];
#pragma unroll
    for (int d = 0; d < 3; ++d) w.Seeing(d, p.at[d], &begin[d], &end[d]);
    C sum[V] = {};
    ForEachPixel(begin, end, w.out, [&](int64_t q) {
      const int64_t from = OffsetOf(w, p, q, w.out);
      C g[V];
      ReadPack(grad_out + from, g);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        if (indices[from + k] == here) sum[k] += g[k];
      }
    });
    WritePack<Memory<T>, V>(x_grad + i * V, sum);
  }
}

struct Divisor {
  bool exclusive = true;
  double value = 0;  // 0: the positions that count

#ifdef __CUDACC__
  template <class C>
  __device__ __forceinline__ C Of(const Windows& w, int64_t a, int64_t b,
                                  int64_t c) const {
    if (value != 0) return static_cast<C>(value);
    return static_cast<C>(w.Counted(0, a, exclusive) *
                          w.Counted(1, b, exclusive) *
                          w.Counted(2, c, exclusive));
  }
#endif
};

template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    Means(Windows w, Divisor divisor, const Memory<T>* x, int64_t count,
          Memory<T>* out) {
  using C = Compute<T>;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    const Place p = PlaceOf<V>(w, i, w.out);
    int64_t begin[3], end[3];
#pragma unroll
    for (int d = 0; d < 3; ++d) w.Range(d, p.at[d], &begin[d], &end[d]);
    C sum[V] = {};
    ForEachPixel(begin, end, w.in, [&](int64_t q) {
      C v[V];
      ReadPack(x + OffsetOf(w, p, q, w.in), v);
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += v[k];
    });
    const C by = divisor.Of<C>(w, p.at[0], p.at[1], p.at[2]);
#pragma unroll
    for (int k = 0; k < V; ++k) sum[k] /= by;
    WritePack<Memory<T>, V>(out + i * V, sum);
  }
}

template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    MeanGrad(Windows w, Divisor divisor, const Memory<T>* grad_out,
             int64_t count, Memory<T>* x_grad) {
  using C = Compute<T>;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    const Place p = PlaceOf<V>(w, i, w.in);
    int64_t begin[3], end[3];
#pragma unroll
    for (int d = 0; d < 3; ++d) w.Seeing(d, p.at[d], &begin[d], &end[d]);
    C sum[V] = {};
    ForEachPixel(begin, end, w.out, [&](int64_t q) {
      const int64_t row = q / w.out[2];
      const C by =
          divisor.Of<C>(w, row / w.out[1], row % w.out[1], q % w.out[2]);
      C g[V];
      ReadPack(grad_out + OffsetOf(w, p, q, w.out), g);
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += g[k] / by;
    });
    WritePack<Memory<T>, V>(x_grad + i * V, sum);
  }
}

// visit(Tag<T>, Number<V>, blocks, threads of work) for results of `size`.
template <class Visit>
void Launch(DType dtype, const Windows& w, const int64_t (&size)[3],
            std::initializer_list<const void*> images, const Visit& visit) {
  const int64_t n = w.numel(size);
  if (n == 0) return;
  VisitFloat(dtype, [&]<class T>(Tag<T> tag) {
    VisitWidth<Memory<T>>(
        w.last ? w.channels : 1, Aligned16(images), [&]<int V>(Number<V> v) {
          const int64_t work = n / V;
          const auto blocks = static_cast<uint32_t>(
              std::min(CeilDiv(work, kThreads), kMostPositions));
          visit(tag, v, blocks, work);
        });
  });
  CheckLaunch("pooling");
}

void RequirePlaces(const char* op, const PoolGeometry& g) {
  PROA_REQUIRE(g.in[0] <= kMostPositions / g.in[1] &&
                   g.in[0] * g.in[1] <= kMostPositions / g.in[2],
               op, ": an image of ", ToString(g.InputShape()),
               " is too large for int32 indices");
}

void MaxInto(const KernelContext& ctx, const PoolGeometry& g, const Tensor& x,
             void* out, int32_t* indices) {
  const Windows w(g);
  Launch(x.dtype(), w, w.out, {x.raw_data(), out},
         [&]<class T, int V>(Tag<T>, Number<V>, uint32_t blocks, int64_t n) {
           using M = Memory<T>;
           Maxima<T, V><<<blocks, kThreads, 0, StreamOf(ctx)>>>(
               w, static_cast<const M*>(x.raw_data()), n, static_cast<M*>(out),
               indices);
         });
}

void MeanInto(const KernelContext& ctx, const PoolGeometry& g,
              const Divisor& divisor, const Tensor& x, const Tensor& out) {
  const Windows w(g);
  Launch(x.dtype(), w, w.out, {x.raw_data(), out.raw_data()},
         [&]<class T, int V>(Tag<T>, Number<V>, uint32_t blocks, int64_t n) {
           using M = Memory<T>;
           Means<T, V><<<blocks, kThreads, 0, StreamOf(ctx)>>>(
               w, divisor, static_cast<const M*>(x.raw_data()), n,
               static_cast<M*>(out.raw_data()));
         });
}

void MeanGradInto(const KernelContext& ctx, const PoolGeometry& g,
                  const Divisor& divisor, const Tensor& grad_out,
                  const Tensor& x_grad) {
  const Windows w(g);
  Launch(x_grad.dtype(), w, w.in, {grad_out.raw_data(), x_grad.raw_data()},
         [&]<class T, int V>(Tag<T>, Number<V>, uint32_t blocks, int64_t n) {
           using M = Memory<T>;
           MeanGrad<T, V><<<blocks, kThreads, 0, StreamOf(ctx)>>>(
               w, divisor, static_cast<const M*>(grad_out.raw_data()), n,
               static_cast<M*>(x_grad.raw_data()));
         });
}

}  // namespace

void MaxPool(const KernelContext& ctx, const Tensor& x,
             std::span<const int64_t> kernel_size,
             std::span<const int64_t> stride, std::span<const int64_t> padding,
             bool ceil_mode, std::string_view data_format,
             std::string_view padding_algorithm, Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  const PoolGeometry g =
      PoolGeometryOf("max_pool", in.shape(),
                     {kernel_size, stride, padding, ceil_mode, images.format(),
                      padding_algorithm});
  RequirePlaces("max_pool", g);
  MaxInto(ctx, g, in, images.Out(*out).raw_data(), nullptr);
}

void MaxPoolWithIndex(const KernelContext& ctx, const Tensor& x,
                      std::span<const int64_t> kernel_size,
                      std::span<const int64_t> stride,
                      std::span<const int64_t> padding, bool ceil_mode,
                      std::string_view data_format,
                      std::string_view padding_algorithm, Tensor* out,
                      Tensor* indices) {
  const char* op = "max_pool_with_index";
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  const PoolGeometry g =
      PoolGeometryOf(op, in.shape(),
                     {kernel_size, stride, padding, ceil_mode, images.format(),
                      padding_algorithm});
  RequirePlaces(op, g);
  MaxInto(ctx, g, in, images.Out(*out).raw_data(),
          static_cast<int32_t*>(images.Out(*indices).raw_data()));
}

void AdaptiveMaxPool(const KernelContext& ctx, const Tensor& x,
                     std::span<const int64_t> output_size,
                     std::string_view data_format, Tensor* out,
                     Tensor* indices) {
  const char* op = "adaptive_max_pool";
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  const PoolGeometry g =
      AdaptivePoolGeometryOf(op, in.shape(), output_size, images.format());
  RequirePlaces(op, g);
  MaxInto(ctx, g, in, images.Out(*out).raw_data(),
          static_cast<int32_t*>(images.Out(*indices).raw_data()));
}

void MaxPoolGrad(const KernelContext& ctx, const Tensor& grad_out,
                 const Tensor& x, std::span<const int64_t> kernel_size,
                 std::span<const int64_t> stride,
                 std::span<const int64_t> padding, bool ceil_mode,
                 std::string_view data_format,
                 std::string_view padding_algorithm, Tensor* x_grad) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), grad = images.In(grad_out);
  const PoolGeometry g =
      PoolGeometryOf("max_pool_grad", in.shape(),
                     {kernel_size, stride, padding, ceil_mode, images.format(),
                      padding_algorithm});
  RequirePlaces("max_pool_grad", g);
  const Tensor to = images.Out(*x_grad);
  const Workspace places(ctx,
                         grad.numel() * static_cast<int64_t>(sizeof(int32_t)));
  MaxInto(ctx, g, in, nullptr, places.as<int32_t>());
  const Windows w(g);
  Launch(to.dtype(), w, w.in, {grad.raw_data(), to.raw_data()},
         [&]<class T, int V>(Tag<T>, Number<V>, uint32_t blocks, int64_t n) {
           using M = Memory<T>;
           MaxGrad<T, V><<<blocks, kThreads, 0, StreamOf(ctx)>>>(
               w, static_cast<const M*>(grad.raw_data()), places.as<int32_t>(),
               n, static_cast<M*>(to.raw_data()));
         });
}

void AvgPool(const KernelContext& ctx, const Tensor& x,
             std::span<const int64_t> kernel_size,
             std::span<const int64_t> stride, std::span<const int64_t> padding,
             bool ceil_mode, bool exclusive, std::string_view data_format,
             std::optional<double> divisor_override,
             std::string_view padding_algorithm, Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  const PoolGeometry g =
      PoolGeometryOf("avg_pool", in.shape(),
                     {kernel_size, stride, padding, ceil_mode, images.format(),
                      padding_algorithm});
  MeanInto(ctx, g, {exclusive, divisor_override.value_or(0)}, in,
           images.Out(*out));
}

void AvgPoolGrad(const KernelContext& ctx, const Tensor& grad_out,
                 const IntArray& input_shape,
                 std::span<const int64_t> kernel_size,
                 std::span<const int64_t> stride,
                 std::span<const int64_t> padding, bool ceil_mode,
                 bool exclusive, std::string_view data_format,
                 std::optional<double> divisor_override,
                 std::string_view padding_algorithm, Tensor* x_grad) {
  const Images images(*x_grad, data_format);
  const Tensor grad = images.In(grad_out), to = images.Out(*x_grad);
  const PoolGeometry g =
      PoolGeometryOf("avg_pool_grad", to.shape(),
                     {kernel_size, stride, padding, ceil_mode, images.format(),
                      padding_algorithm});
  MeanGradInto(ctx, g, {exclusive, divisor_override.value_or(0)}, grad, to);
}

void AdaptiveAvgPool(const KernelContext& ctx, const Tensor& x,
                     std::span<const int64_t> output_size,
                     std::string_view data_format, Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  MeanInto(ctx,
           AdaptivePoolGeometryOf("adaptive_avg_pool", in.shape(), output_size,
                                  images.format()),
           {}, in, images.Out(*out));
}

void AdaptiveAvgPoolGrad(const KernelContext& ctx, const Tensor& grad_out,
                         const IntArray& input_shape,
                         std::string_view data_format, Tensor* x_grad) {
  const Images images(*x_grad, data_format);
  const Tensor grad = images.In(grad_out), to = images.Out(*x_grad);
  PoolGeometry g = IndexGeometryOf("adaptive_avg_pool_grad", to.shape(),
                                   grad.shape(), images.format());
  g.adaptive = true;
  MeanGradInto(ctx, g, {}, grad, to);
}

}  // namespace proa::inline v0::ops::cuda
