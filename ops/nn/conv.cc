// Composites around convolution.
#include <optional>

#include "ops/nn/conv_ops.h"
#include "ops/nn/conv_transpose_ops.h"
#include "ops/nn/window.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

Tensor Conv(const Tensor& x, const Tensor& weight, const Tensor& bias,
            std::span<const int64_t> stride, std::span<const int64_t> padding,
            std::span<const int64_t> dilation, int64_t groups,
            std::string_view data_format, std::string_view padding_algorithm) {
  const auto of = [&](auto conv) {
    return conv(x, weight, bias, stride, padding, dilation, groups, data_format,
                padding_algorithm);
  };
  const int dims = ReadFormat("conv", data_format).dims;
  return dims == 1 ? of(conv1d) : dims == 2 ? of(conv2d) : of(conv3d);
}

Tensor ConvTranspose(const Tensor& x, const Tensor& weight, const Tensor& bias,
                     std::span<const int64_t> stride,
                     std::span<const int64_t> padding,
                     std::span<const int64_t> output_padding,
                     std::span<const int64_t> dilation, int64_t groups,
                     const IntArray& output_size, std::string_view data_format,
                     std::string_view padding_algorithm) {
  const auto of = [&](auto transpose) {
    return transpose(x, weight, bias, stride, padding, output_padding, dilation,
                     groups, output_size, data_format, padding_algorithm);
  };
  const int dims = ReadFormat("conv_transpose", data_format).dims;
  return dims == 1   ? of(conv1d_transpose)
         : dims == 2 ? of(conv2d_transpose)
                     : of(conv3d_transpose);
}

Tensor ChannelSum(const Tensor& x, std::string_view data_format,
                  std::optional<DType> dtype) {
  PROA_REQUIRE(x.rank() >= 2,
               "channel_sum: x must have at least 2 dims; it is ", Describe(x));
  const int channel = ChannelDimOf(x.rank(), data_format);
  DimVector axes;
  for (int d = 0; d < x.rank(); ++d)
    if (d != channel) axes.push_back(d);
  return sum(x, std::span<const int64_t>(axes.data(), axes.size()), dtype);
}

}  // namespace proa::inline v0::ops
