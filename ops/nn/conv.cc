// Composites around convolution.
#include "ops/manipulation/manipulation_ops.h"
#include "ops/nn/conv_geometry.h"
#include "ops/nn/nn_ops.h"
#include "ops/reduction/reduction_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

Tensor ChannelSum(const Tensor& x, std::string_view data_format) {
  PROA_REQUIRE(x.rank() >= 2,
               "channel_sum: x must have at least 2 dims; it is ", Describe(x));
  const bool channels_last =
      data_format.size() > 1 && data_format.back() == 'C';
  const int channel = channels_last ? x.rank() - 1 : 1;
  DimVector axes;
  for (int d = 0; d < x.rank(); ++d)
    if (d != channel) axes.push_back(d);
  return sum(x, std::span<const int64_t>(axes.data(), axes.size()));
}

Tensor WithoutExcess(const Tensor& grad, std::span<const int64_t> stride,
                     std::span<const int64_t> output_padding,
                     std::string_view data_format) {
  if (output_padding.empty()) return grad;
  int64_t steps[2], more[2];
  ReadPair("without_excess", "stride", stride, 1, steps);
  ReadPair("without_excess", "output_padding", output_padding, 0, more);
  const int first = IsChannelsLast("without_excess", data_format) ? 1 : 2;
  DimVector axes, starts, ends;
  for (int d = 0; d < 2; ++d) {
    if (more[d] < steps[d]) continue;
    axes.push_back(first + d);
    starts.push_back(0);
    ends.push_back(steps[d] - 1 - more[d]);
  }
  if (axes.empty()) return grad;
  const auto span = [](const DimVector& v) {
    return std::span<const int64_t>(v.data(), v.size());
  };
  return slice(grad, span(axes), span(starts), span(ends));
}

}  // namespace proa::inline v0::ops
