// Kernel of a convolution with residual and activation, compiled once per
// instruction set, on some images at a time. oneDNN would compute relu itself,
// and make 0 of NaN.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm_then.h"
#include "ops/nn/activate.h"
#include "ops/nn/conv_activation_kernels.h"
#include "ops/nn/conv_geometry.h"
#include "ops/nn/conv_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/nn/images.h"
#include "ops/nn/weight_grad_parts.h"
#include "ops/onednn/threads.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Rows of an image that the part begins with, as [images, rows, W, C].
Tensor PartOf(const Tensor& t, const PartRange& images, int64_t first_row,
              int64_t rows) {
  const int64_t pixels = t.size(2), channels = t.size(3);
  return t.AsStrided(
      {images.size(), rows, pixels, channels}, t.strides(),
      images.begin * t.strides()[0] + first_row * t.strides()[1]);
}

}  // namespace

void Conv2dActivation(const KernelContext& ctx, const Tensor& x,
                      const Tensor& weight, const Tensor& bias,
                      const Tensor& residual, const Tensor& scale,
                      std::string_view activation, double alpha, double beta,
                      std::span<const int64_t> stride,
                      std::span<const int64_t> padding,
                      std::span<const int64_t> dilation, int64_t groups,
                      std::string_view data_format,
                      std::string_view padding_algorithm, Tensor* out) {
  if (out->numel() == 0) return;
  const Tensor in = ChannelsLastInput(x, data_format);
  const Tensor y = ChannelsLastOutput(*out, data_format);
  const Tensor added =
      residual.defined()
          ? FloatCopy(ChannelsLastInput(residual, data_format), out->dtype())
          : Tensor();
  const ConvGeometry g = GeometryOf(
      "conv2d_activation", in.shape(), weight.shape(),
      {{stride, padding, dilation, padding_algorithm}, groups, "NHWC"});
  const auto parts = CachedParts(g, ItemSize(y.dtype()));
  // What is added and changed in its own memory is convolved into another: that
  // of a part, which stays in the cache.
  const bool apart = out->is_same(residual);
  const bool is_relu = activation == "relu";
  const bool is_sum = (is_relu || activation == "none") && !scale.defined() &&
                      weight.is_contiguous() && in.dtype() == y.dtype();
  // `of`: what the part is by itself.
  const auto run = [&](const ConvGeometry& of, const Tensor& from,
                       std::span<const int64_t> pads,
                       std::string_view algorithm, const PartRange& images,
                       const PartRange& rows) {
    Tensor part = PartOf(y, images, rows.begin, rows.size());
    const Tensor addend = added.defined()
                              ? PartOf(added, images, rows.begin, rows.size())
                              : Tensor();
    const auto convolve =
        [&](const Tensor& sum, bool relu, Tensor* to,
            absl::FunctionRef<void(const GemmPart& part)> done) {
          cpu::ConvScaled(from, weight, scale, bias, stride, pads, dilation,
                          groups, "NHWC", algorithm,
                          /*is_part=*/!parts.empty(), sum, relu, to, done);
        };
    if (is_sum && cpu::FusesSum(of, in.dtype()))
      return convolve(addend, is_relu, &part, [](const GemmPart&) {});
    Tensor product = apart ? Tensor::Empty(part.shape(), part.dtype()) : part;
    const auto piece = [&](const Tensor& t, const GemmPart& at) {
      const int64_t channels = g.out_channels;
      return t.AsStrided({at.rows, at.columns}, {channels, 1},
                         at.row * channels + at.column);
    };
    convolve(Tensor(), false, &product, [&](const GemmPart& at) {
      Tensor result = piece(part, at);
      Activate(activation, alpha, beta, piece(product, at),
               added.defined() ? piece(addend, at) : Tensor(), &result);
    });
  };
  // By images, on all threads.
  const int64_t batch = y.size(0), together = ImagesTogether(y);
  for (int64_t first = 0; parts.empty() && first < batch; first += together) {
    const PartRange images{first, std::min(batch, first + together)};
    ConvGeometry own = g;
    own.batch = images.size();
    run(own, ImagesOf(in, images.begin, images.end), padding, padding_algorithm,
        images, {0, y.size(1)});
  }
  // By parts, each on one thread.
  parallel_for(0, static_cast<int64_t>(parts.size()), 1,
               [&](int64_t begin, int64_t end) {
                 const onednn::SerialScope serial;
                 for (int64_t i = begin; i < end; ++i) {
                   const WeightGradPart& p = parts[i];
                   int64_t first_row;
                   const ConvGeometry own = GeometryOfPart(g, p, &first_row);
                   const int64_t pads[] = {
                       own.window.pad_before[0], own.window.pad_after[0],
                       own.window.pad_before[1], own.window.pad_after[1]};
                   run(own, PartOf(in, p.images, first_row, own.in[0]), pads,
                       "EXPLICIT", p.images, p.rows);
                 }
               });
}

}  // namespace proa::inline v0::ops::PROA_ISA
