// Kernel of a convolution with normalization, residual and relu, compiled once
// per instruction set. The convolution itself is conv2d's kernel on some images
// at a time.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "ops/nn/channel_loops.h"
#include "ops/nn/conv_kernels.h"
#include "ops/nn/conv_norm_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/nn/images.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using namespace channel_loops;

// y = relu(y * scale + shift + residual), in place; `residual` may be null.
template <typename T, typename A>
void NormalizeImages(int64_t pixels, int64_t channels, const A* scale,
                     const A* shift, const T* residual, T* y) {
  const int64_t grain =
      std::max<int64_t>(1, 16384 / std::max<int64_t>(1, channels));
  parallel_for(0, pixels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      T* const row = y + p * channels;
      if (residual != nullptr) {
        const T* const __restrict added = residual + p * channels;
        for (int64_t c = 0; c < channels; ++c) {
          const A v = static_cast<A>(row[c]) * scale[c] + shift[c] +
                      static_cast<A>(added[c]);
          row[c] = T(Positive(v));
        }
      } else {
        for (int64_t c = 0; c < channels; ++c)
          row[c] = T(Positive(static_cast<A>(row[c]) * scale[c] + shift[c]));
      }
    }
  });
}

}  // namespace

void Conv2dBatchNormReluInference(
    const KernelContext& ctx, const Tensor& x, const Tensor& weight,
    const Tensor& mean, const Tensor& variance, const Tensor& bias,
    const Tensor& norm_weight, const Tensor& norm_bias, const Tensor& residual,
    double epsilon, std::span<const int64_t> stride,
    std::span<const int64_t> padding, std::span<const int64_t> dilation,
    int64_t groups, std::string_view data_format,
    std::string_view padding_algorithm, Tensor* out) {
  if (out->numel() == 0) return;
  const Tensor in = ChannelsLastInput(x, data_format);
  const Tensor y = ChannelsLastOutput(*out, data_format);
  const Tensor added =
      residual.defined()
          ? FloatCopy(ChannelsLastInput(residual, data_format), out->dtype())
          : Tensor();
  const int64_t batch = y.size(0), channels = y.size(3);
  const int64_t pixels = y.size(1) * y.size(2);
  const int64_t together = ImagesTogether(y);
  VisitFloat(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    constexpr DType kA = kDTypeOf<A>;
    ChannelLayout l;
    l.channels = channels;
    const Rows<A> rows(l, 2);
    FindScaleAndShiftOf(l, FloatCopy(mean, kA), FloatCopy(variance, kA),
                        FloatCopy(norm_weight, kA), FloatCopy(norm_bias, kA),
                        static_cast<A>(epsilon), rows[0], rows[1]);
    for (int64_t first = 0; first < batch; first += together) {
      const int64_t last = std::min(batch, first + together);
      Tensor part = ImagesOf(y, first, last);
      cpu::Conv(ctx, ImagesOf(in, first, last), weight, bias, stride, padding,
                dilation, groups, "NHWC", padding_algorithm, &part);
      const int64_t start = first * pixels * channels;
      NormalizeImages(
          (last - first) * pixels, channels, rows[0], rows[1],
          added.defined() ? added.data<T>() + start : static_cast<T*>(nullptr),
          y.data<T>() + start);
    }
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
