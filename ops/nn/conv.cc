// Composites around convolution.
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

}  // namespace proa::inline v0::ops
