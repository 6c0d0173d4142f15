// Kernels of the poolings. All are loops over windows, one (image, channel
// block) a task; memory bound. Gradients add up within a task, in a fixed
// order.
#include <limits>
#include <type_traits>

#include "ops/nn/float_copy.h"
#include "ops/nn/images.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_geometry.h"
#include "ops/nn/pool_kernels.h"
#include "ops/nn/pool_loops.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Calls f(block) for every image and channel block, in parallel.
template <typename F>
void ForEachBlock(const PoolGeometry& g, F&& f) {
  const int64_t in_area = g.in[0] * g.in[1], out_area = g.out[0] * g.out[1];
  const int64_t block = g.channels_last ? kPoolChannelBlock : 1;
  const int64_t blocks = (g.channels + block - 1) / block;
  const int64_t work = std::max<int64_t>(in_area * block, 1);
  parallel_for(
      0, g.batch * blocks, std::max<int64_t>(1, 16384 / work),
      [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          const int64_t n = t / blocks, c = t % blocks * block;
          if (g.channels_last) {
            f(PoolBlock{n * in_area * g.channels + c,
                        n * out_area * g.channels + c,
                        std::min(block, g.channels - c), g.in[1] * g.channels,
                        g.channels, g.out[1] * g.channels, g.channels});
          } else {
            f(PoolBlock{(n * g.channels + c) * in_area,
                        (n * g.channels + c) * out_area, 1, g.in[1], 1,
                        g.out[1], 1});
          }
        }
      });
}

// The window of one output position, in input rows and columns, and what its
// mean divides by.
struct Span {
  int64_t top, bottom, left, right, divisor;
};

// Calls f(out_offset, window) for every output position of a block.
template <typename F>
void ForEachWindow(const PoolGeometry& g, const PoolBlock& b, bool exclusive,
                   F&& f) {
  for (int64_t i = 0; i < g.out[0]; ++i) {
    Span s;
    g.Range(0, i, &s.top, &s.bottom);
    const int64_t rows = g.Counted(0, i, exclusive);
    for (int64_t j = 0; j < g.out[1]; ++j) {
      g.Range(1, j, &s.left, &s.right);
      s.divisor = rows * g.Counted(1, j, exclusive);
      f(b.out_start + i * b.out_row + j * b.out_column, s);
    }
  }
}

// Calls f(rows) for all rows of all images, of `height` each, in parallel. A
// task computes what it needs of its neighbours again, so it has some rows.
template <typename F>
void ForEachRow(const PoolGeometry& g, int64_t height, F&& f) {
  const int64_t planes = g.channels_last ? 1 : g.channels;
  const int64_t channels = g.channels_last ? g.channels : 1;
  const int64_t in_size = g.in[0] * g.in[1] * channels;
  const int64_t out_size = g.out[0] * g.out[1] * channels;
  const int64_t work =
      std::max<int64_t>(in_size / std::max<int64_t>(height, 1), 1);
  parallel_for(
      0, g.batch * planes * height, std::max<int64_t>(1, 16384 / work),
      [&](int64_t begin, int64_t end) {
        while (begin < end) {
          const int64_t image = begin / height, first = begin % height;
          const int64_t last = std::min(height, first + end - begin);
          f(PoolRows{image * in_size, image * out_size, channels, first, last});
          begin += last - first;
        }
      });
}

void MaxForward(const PoolGeometry& g, const Tensor& x, const Tensor& out,
                int32_t* indices) {
  const MaxPoolLoops loops = FindMaxPoolLoops(x.dtype());
  ForEachRow(g, g.out[0], [&](const PoolRows& rows) {
    loops.forward(g, rows, x.raw_data(), out.raw_data(), indices);
  });
}

void MeanForward(const PoolGeometry& g, bool exclusive, const Tensor& x,
                 const Tensor& out) {
  const PoolLoops loops = FindPoolLoops(x.dtype());
  ForEachBlock(g, [&](const PoolBlock& b) {
    loops.mean(g, b, exclusive, x.raw_data(), out.raw_data());
  });
}

template <typename T>
void MeanBackward(const PoolGeometry& g, bool exclusive, const T* grad_out,
                  T* x_grad) {
  using Sum = typename Accumulate<T>::type;
  ZeroBytes(x_grad, g.InputShape().numel() * static_cast<int64_t>(sizeof(T)));
  ForEachBlock(g, [&](const PoolBlock& b) {
    ForEachWindow(g, b, exclusive, [&](int64_t o, const Span& s) {
      const Sum divisor = static_cast<Sum>(s.divisor);
      Sum shares[kPoolChannelBlock];
      for (int64_t c = 0; c < b.channels; ++c)
        shares[c] = static_cast<Sum>(grad_out[o + c]) / divisor;
      for (int64_t r = s.top; r < s.bottom; ++r) {
        for (int64_t q = s.left; q < s.right; ++q) {
          T* p = x_grad + b.in_start + r * b.in_row + q * b.in_column;
          for (int64_t c = 0; c < b.channels; ++c)
            p[c] = T(static_cast<Sum>(p[c]) + shares[c]);
        }
      }
    });
  });
}

void RequireIndexable(const char* op, const PoolGeometry& g) {
  PROA_REQUIRE(g.in[0] <= std::numeric_limits<int32_t>::max() / g.in[1], op,
               ": an image of ", g.in[0], " x ", g.in[1],
               " is too large for int32 indices");
}

void MaxWithIndex(const char* op, const PoolGeometry& g, const Tensor& x,
                  const Tensor& out, const Tensor& indices) {
  RequireIndexable(op, g);
  MaxForward(g, x, out, indices.data<int32_t>());
}

// An image tensor seen as a pooling whose windows are unimportant, for the ops
// that go by stored indices.
PoolGeometry IndexGeometry(const Shape& input, const Shape& output,
                           std::string_view data_format) {
  PoolGeometry g;
  g.channels_last = data_format == "NHWC";
  g.batch = input[0];
  g.channels = input[g.channels_last ? 3 : 1];
  for (int d = 0; d < 2; ++d) {
    g.in[d] = input[(g.channels_last ? 1 : 2) + d];
    g.out[d] = output[(g.channels_last ? 1 : 2) + d];
  }
  return g;
}

// Calls f(out_offset, in_offset) for each stored index; -1, of a window without
// elements, gives the offset -1.
template <typename F>
void ForEachIndex(const char* op, const PoolGeometry& g, const int32_t* indices,
                  F&& f) {
  const int64_t area = g.in[0] * g.in[1];
  ForEachBlock(g, [&](const PoolBlock& b) {
    for (int64_t i = 0; i < g.out[0] * g.out[1]; ++i) {
      for (int64_t c = 0; c < b.channels; ++c) {
        const int64_t o = b.out_start + i * b.out_column + c;
        const int64_t at = indices[o];
        if (at == -1) {
          f(o, int64_t{-1});
          continue;
        }
        if (at < 0 || at >= area) {
          Fail(absl::StatusCode::kOutOfRange, op, ": index ", at,
               " is out of range for an image of ", g.in[0], " x ", g.in[1]);
        }
        f(o, b.in_start + at * b.in_column + c);
      }
    }
  });
}

// out = zeros, and put(element, value) for each value where its index says.
template <typename Put>
void Place(const char* op, const PoolGeometry& g, const Tensor& values,
           const Tensor& indices, const Tensor& out, Put put) {
  Zero(out);
  VisitFloat(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = values.data<T>();
    T* to = out.data<T>();
    ForEachIndex(op, g, indices.data<int32_t>(), [&](int64_t o, int64_t i) {
      if (i >= 0) put(to[i], from[o]);
    });
  });
}

// Values of one place are added.
void Scatter(const char* op, const PoolGeometry& g, const Tensor& values,
             const Tensor& indices, const Tensor& out) {
  Place(op, g, values, indices, out, [](auto& to, auto value) {
    using T = std::remove_reference_t<decltype(to)>;
    to = T(to + value);
  });
}

}  // namespace

void MaxPool2d(const KernelContext& ctx, const Tensor& x,
               std::span<const int64_t> kernel_size,
               std::span<const int64_t> stride,
               std::span<const int64_t> padding, bool ceil_mode,
               std::string_view data_format, Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  const PoolGeometry g = PoolGeometryOf(
      "max_pool2d", in.shape(),
      {kernel_size, stride, padding, ceil_mode, images.format()});
  RequireIndexable("max_pool2d", g);
  MaxForward(g, in, images.Out(*out), nullptr);
}

void MaxPool2dWithIndex(const KernelContext& ctx, const Tensor& x,
                        std::span<const int64_t> kernel_size,
                        std::span<const int64_t> stride,
                        std::span<const int64_t> padding, bool ceil_mode,
                        std::string_view data_format, Tensor* out,
                        Tensor* indices) {
  const char* op = "max_pool2d_with_index";
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  MaxWithIndex(op,
               PoolGeometryOf(
                   op, in.shape(),
                   {kernel_size, stride, padding, ceil_mode, images.format()}),
               in, images.Out(*out), images.Out(*indices));
}

void AdaptiveMaxPool2d(const KernelContext& ctx, const Tensor& x,
                       std::span<const int64_t> output_size,
                       std::string_view data_format, Tensor* out,
                       Tensor* indices) {
  const char* op = "adaptive_max_pool2d";
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  MaxWithIndex(
      op, AdaptivePoolGeometryOf(op, in.shape(), output_size, images.format()),
      in, images.Out(*out), images.Out(*indices));
}

void MaxPool2dGrad(const KernelContext& ctx, const Tensor& grad_out,
                   const Tensor& x, std::span<const int64_t> kernel_size,
                   std::span<const int64_t> stride,
                   std::span<const int64_t> padding, bool ceil_mode,
                   std::string_view data_format, Tensor* x_grad) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), grad = images.In(grad_out);
  const PoolGeometry g = PoolGeometryOf(
      "max_pool2d_grad", in.shape(),
      {kernel_size, stride, padding, ceil_mode, images.format()});
  RequireIndexable("max_pool2d_grad", g);
  const Tensor to = images.Out(*x_grad);
  if (g.channels_last) {
    const MaxPoolLoops loops = FindMaxPoolLoops(in.dtype());
    return ForEachRow(g, g.in[0], [&](const PoolRows& rows) {
      loops.grad(g, rows, grad.raw_data(), in.raw_data(), to.raw_data());
    });
  }
  // Of planes the maxima are found side by side, and stores are single anyway.
  const Tensor maxima = Tensor::Empty(grad.shape(), x.dtype());
  const Tensor indices = Tensor::Empty(grad.shape(), DType::kInt32);
  MaxForward(g, in, maxima, indices.data<int32_t>());
  Scatter("max_pool2d_grad", g, grad, indices, to);
}

void AvgPool2d(const KernelContext& ctx, const Tensor& x,
               std::span<const int64_t> kernel_size,
               std::span<const int64_t> stride,
               std::span<const int64_t> padding, bool ceil_mode, bool exclusive,
               std::string_view data_format, Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  const PoolGeometry g = PoolGeometryOf(
      "avg_pool2d", in.shape(),
      {kernel_size, stride, padding, ceil_mode, images.format()});
  MeanForward(g, exclusive, in, images.Out(*out));
}

void AvgPool2dGrad(const KernelContext& ctx, const Tensor& grad_out,
                   const IntArray& input_shape,
                   std::span<const int64_t> kernel_size,
                   std::span<const int64_t> stride,
                   std::span<const int64_t> padding, bool ceil_mode,
                   bool exclusive, std::string_view data_format,
                   Tensor* x_grad) {
  const Images images(*x_grad, data_format);
  const Tensor grad = images.In(grad_out), to = images.Out(*x_grad);
  const PoolGeometry g = PoolGeometryOf(
      "avg_pool2d_grad", to.shape(),
      {kernel_size, stride, padding, ceil_mode, images.format()});
  VisitFloat(grad.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    MeanBackward(g, exclusive, grad.data<T>(), to.data<T>());
  });
}

void AdaptiveAvgPool2d(const KernelContext& ctx, const Tensor& x,
                       std::span<const int64_t> output_size,
                       std::string_view data_format, Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  const PoolGeometry g = AdaptivePoolGeometryOf(
      "adaptive_avg_pool2d", in.shape(), output_size, images.format());
  MeanForward(g, true, in, images.Out(*out));
}

void AdaptiveAvgPool2dGrad(const KernelContext& ctx, const Tensor& grad_out,
                           const IntArray& input_shape,
                           std::string_view data_format, Tensor* x_grad) {
  const Images images(*x_grad, data_format);
  const Tensor grad = images.In(grad_out), to = images.Out(*x_grad);
  const int first = images.format() == "NHWC" ? 1 : 2;
  const int64_t output_size[] = {grad.size(first), grad.size(first + 1)};
  const PoolGeometry g = AdaptivePoolGeometryOf(
      "adaptive_avg_pool2d_grad", to.shape(), output_size, images.format());
  VisitFloat(grad.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    MeanBackward(g, true, grad.data<T>(), to.data<T>());
  });
}

void Pool2dScatter(const KernelContext& ctx, const Tensor& values,
                   const Tensor& indices, const IntArray& input_shape,
                   std::string_view data_format, Tensor* out) {
  const Images images(*out, data_format);
  const Tensor from = images.In(values), to = images.Out(*out);
  const PoolGeometry g =
      IndexGeometry(to.shape(), from.shape(), images.format());
  Scatter("pool2d_scatter", g, from, images.In(indices), to);
}

void MaxUnpool2d(const KernelContext& ctx, const Tensor& x,
                 const Tensor& indices, const IntArray& output_shape,
                 std::string_view data_format, Tensor* out) {
  const Images images(*out, data_format);
  const Tensor from = images.In(x), to = images.Out(*out);
  const PoolGeometry g =
      IndexGeometry(to.shape(), from.shape(), images.format());
  Place("max_unpool2d", g, from, images.In(indices), to,
        [](auto& element, auto value) { element = value; });
}

void Pool2dGather(const KernelContext& ctx, const Tensor& x,
                  const Tensor& indices, std::string_view data_format,
                  Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), at = images.In(indices);
  const Tensor picked = images.Out(*out);
  const PoolGeometry g = IndexGeometry(in.shape(), at.shape(), images.format());
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.data<T>();
    T* to = picked.data<T>();
    ForEachIndex("pool2d_gather", g, at.data<int32_t>(),
                 [&](int64_t o, int64_t i) { to[o] = i < 0 ? T(0) : from[i]; });
  });
}

}  // namespace proa::inline v0::ops::cpu
