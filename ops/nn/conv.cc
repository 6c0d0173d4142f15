// Composites around convolution.
#include <limits>

#include "ops/manipulation/arrange_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/nn/conv_geometry.h"
#include "ops/nn/conv_ops.h"
#include "ops/reduction/extremum_ops.h"
#include "ops/reduction/sum_ops.h"
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

namespace {

// How many rows and columns output_padding makes room for, for `op`.
struct More {
  int64_t count[2] = {0, 0};
  int first;  // the dim of the rows
};

More MoreOf(const char* op, std::span<const int64_t> stride,
            std::span<const int64_t> output_padding,
            std::string_view data_format) {
  More m;
  m.first = IsChannelsLast(op, data_format) ? 1 : 2;
  if (output_padding.empty()) return m;
  int64_t steps[2];
  ReadPair(op, "stride", stride, 1, steps);
  ReadPair(op, "output_padding", output_padding, 0, m.count);
  for (int d = 0; d < 2; ++d) m.count[d] = OutputsBehind(steps[d], m.count[d]);
  return m;
}

}  // namespace

Tensor WithoutOutputsBehind(const Tensor& x, std::span<const int64_t> stride,
                            std::span<const int64_t> output_padding,
                            std::string_view data_format) {
  const More m =
      MoreOf("without_outputs_behind", stride, output_padding, data_format);
  if (m.count[0] == 0 && m.count[1] == 0) return x;
  const int64_t axes[] = {m.first, m.first + 1}, starts[] = {0, 0};
  int64_t ends[2];
  for (int d = 0; d < 2; ++d)
    ends[d] =
        m.count[d] > 0 ? -m.count[d] : std::numeric_limits<int32_t>::max();
  return slice(x, axes, starts, ends);
}

Tensor WithOutputsBehind(const Tensor& x, std::span<const int64_t> stride,
                         std::span<const int64_t> output_padding,
                         std::string_view data_format) {
  const More m =
      MoreOf("with_outputs_behind", stride, output_padding, data_format);
  if (m.count[0] == 0 && m.count[1] == 0) return x;
  int64_t paddings[8] = {};
  for (int d = 0; d < 2; ++d) paddings[2 * (m.first + d) + 1] = m.count[d];
  return pad(x, paddings);
}

}  // namespace proa::inline v0::ops
