// Kernels of max and mean pooling in one to three dims. All are loops over
// windows, one (image, channel block) a task; memory bound. Gradients add up
// within a task, in a fixed order.
#include <algorithm>

#include "ops/nn/adaptive_pool_kernels.h"
#include "ops/nn/avg_pool_kernels.h"
#include "ops/nn/images.h"
#include "ops/nn/max_pool_kernels.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_geometry.h"
#include "ops/nn/pool_loops.h"
#include "ops/nn/pool_places.h"
#include "ops/primitives/cpu/streaming.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Calls f(rows) for all rows of all images, of `height` each through all
// planes, in parallel; with several images at once if they are small and it is
// `by_images`. A task computes what it needs of its neighbours again, so it has
// some rows.
template <typename F>
void ForEachRow(const PoolGeometry& g, int64_t height, bool by_images, F&& f) {
  const int64_t images = g.channels_last() ? 1 : g.channels;
  const int64_t channels = g.channels_last() ? g.channels : 1;
  const int64_t in_size = g.in_pixels() * channels;
  const int64_t out_size = g.out_pixels() * channels;
  const int64_t work =
      std::max<int64_t>(in_size / std::max<int64_t>(height, 1), 1);
  parallel_for(0, g.batch * images * height, std::max<int64_t>(1, 16384 / work),
               [&](int64_t begin, int64_t end) {
                 while (begin < end) {
                   const int64_t image = begin / height, first = begin % height;
                   const int64_t last = std::min(height, first + end - begin);
                   PoolRows rows{image * in_size, image * out_size, channels,
                                 first, last};
                   if (by_images && first == 0 && last == height)
                     rows.images = (end - begin) / height;
                   f(rows);
                   begin += rows.images * (last - first);
                 }
               });
}

void MaxForward(const PoolGeometry& g, const Tensor& x, const Tensor& out,
                int32_t* indices) {
  const MaxPoolLoops loops = FindMaxPoolLoops(x.dtype());
  ForEachRow(g, g.out[0] * g.out[1], true, [&](const PoolRows& rows) {
    loops.forward(g, rows, x.raw_data(), out.raw_data(), indices);
  });
}

void MeanForward(const PoolGeometry& g, const PoolDivisor& divisor,
                 const Tensor& x, const Tensor& out) {
  const PoolLoops loops = FindPoolLoops(x.dtype());
  if (g.adaptive && g.out_pixels() == 1 && !g.channels_last()) {
    const int64_t n = g.in_pixels(), size = ItemSize(x.dtype());
    const char* const from = static_cast<const char*>(x.raw_data());
    char* const to = static_cast<char*>(out.raw_data());
    return parallel_for(0, g.batch * g.channels,
                        std::max<int64_t>(1, 65536 / std::max<int64_t>(n, 1)),
                        [&](int64_t begin, int64_t end) {
                          loops.image_means(from + begin * n * size,
                                            end - begin, n, to + begin * size);
                        });
  }
  ForEachPoolBlock(g, [&](const PoolBlock& b) {
    loops.mean(g, b, divisor, x.raw_data(), out.raw_data());
  });
}

void MeanBackward(const PoolGeometry& g, const PoolDivisor& divisor,
                  const Tensor& grad_out, const Tensor& x_grad) {
  const PoolLoops loops = FindPoolLoops(x_grad.dtype());
  const bool stream = PaysToStream((x_grad.numel() + grad_out.numel()) *
                                   ItemSize(x_grad.dtype()));
  ForEachRow(g, g.in[0] * g.in[1], !g.channels_last(), [&](PoolRows rows) {
    rows.stream = stream;
    loops.mean_grad(g, rows, divisor, grad_out.raw_data(), x_grad.raw_data());
  });
}

void MaxWithIndex(const char* op, const PoolGeometry& g, const Tensor& x,
                  const Tensor& out, const Tensor& indices) {
  RequirePlaces(op, g);
  MaxForward(g, x, out, indices.data<int32_t>());
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
  MaxForward(g, in, images.Out(*out), nullptr);
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
  MaxWithIndex(op,
               PoolGeometryOf(op, in.shape(),
                              {kernel_size, stride, padding, ceil_mode,
                               images.format(), padding_algorithm}),
               in, images.Out(*out), images.Out(*indices));
}

void AdaptiveMaxPool(const KernelContext& ctx, const Tensor& x,
                     std::span<const int64_t> output_size,
                     std::string_view data_format, Tensor* out,
                     Tensor* indices) {
  const char* op = "adaptive_max_pool";
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  MaxWithIndex(
      op, AdaptivePoolGeometryOf(op, in.shape(), output_size, images.format()),
      in, images.Out(*out), images.Out(*indices));
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
  const int64_t channels = g.channels_last() ? g.channels : 1;
  if (GradByRows(g, channels)) {
    const MaxPoolLoops loops = FindMaxPoolLoops(in.dtype());
    const bool stream =
        PaysToStream((2 * to.numel() + grad.numel()) * ItemSize(to.dtype()));
    return ForEachRow(g, g.in[1], channels == 1, [&](PoolRows rows) {
      rows.stream = stream;
      loops.grad(g, rows, grad.raw_data(), in.raw_data(), to.raw_data());
    });
  }
  // Of several planes an output would be found again for each of them.
  const Tensor maxima = Tensor::Empty(grad.shape(), x.dtype());
  const Tensor indices = Tensor::Empty(grad.shape(), DType::kInt32);
  MaxForward(g, in, maxima, indices.data<int32_t>());
  AddToPlaces("max_pool_grad", g, grad, indices, to);
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
  MeanForward(g, {exclusive, divisor_override.value_or(0)}, in,
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
  MeanBackward(g, {exclusive, divisor_override.value_or(0)}, grad, to);
}

void AdaptiveAvgPool(const KernelContext& ctx, const Tensor& x,
                     std::span<const int64_t> output_size,
                     std::string_view data_format, Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x);
  const PoolGeometry g = AdaptivePoolGeometryOf("adaptive_avg_pool", in.shape(),
                                                output_size, images.format());
  MeanForward(g, {}, in, images.Out(*out));
}

void AdaptiveAvgPoolGrad(const KernelContext& ctx, const Tensor& grad_out,
                         const IntArray& input_shape,
                         std::string_view data_format, Tensor* x_grad) {
  const char* op = "adaptive_avg_pool_grad";
  const Images images(*x_grad, data_format);
  const Tensor grad = images.In(grad_out), to = images.Out(*x_grad);
  PoolGeometry g =
      IndexGeometryOf(op, to.shape(), grad.shape(), images.format());
  g.adaptive = true;
  MeanBackward(g, {}, grad, to);
}

}  // namespace proa::inline v0::ops::cpu
