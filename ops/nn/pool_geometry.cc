#include "ops/nn/pool_geometry.h"

#include <limits>

#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

constexpr const char* kDimNames[2] = {"height", "width"};

PoolGeometry ImageGeometry(const char* op, const Shape& input,
                           std::string_view data_format) {
  PoolGeometry g;
  g.channels_last = IsChannelsLast(op, data_format);
  PROA_REQUIRE(input.rank() == 4, op, ": x must have 4 dims (", data_format,
               "); it is ", ToString(input));
  g.batch = input[0];
  g.channels = input[g.channels_last ? 3 : 1];
  for (int d = 0; d < 2; ++d) {
    g.in[d] = input[(g.channels_last ? 1 : 2) + d];
    PROA_REQUIRE(g.in[d] != 0, op, ": the input ", kDimNames[d], " is 0; x is ",
                 ToString(input));
  }
  return g;
}

}  // namespace

Shape PoolGeometry::ImageShape(const int64_t size[2]) const {
  if (channels_last) return {batch, size[0], size[1], channels};
  return {batch, channels, size[0], size[1]};
}

PoolGeometry PoolGeometryOf(const char* op, const Shape& input,
                            const PoolAttributes& a) {
  PoolGeometry g = ImageGeometry(op, input, a.data_format);
  Window& w = g.window;
  ReadPair(op, "kernel_size", a.kernel_size, 1, w.kernel);
  ReadPair(op, "stride", a.stride.empty() ? a.kernel_size : a.stride, 1,
           w.stride);
  ReadPadding(op, a.padding, w);
  for (int d = 0; d < 2; ++d) {
    PROA_REQUIRE(std::max(w.pad_before[d], w.pad_after[d]) < w.kernel[d], op,
                 ": padding ", std::max(w.pad_before[d], w.pad_after[d]),
                 " is not smaller than the kernel ", kDimNames[d], " ",
                 w.kernel[d]);
    if (g.in[d] == kUnknownDim) {
      g.out[d] = kUnknownDim;
      continue;
    }
    const int64_t padded = g.in[d] + w.pad_before[d] + w.pad_after[d];
    const int64_t room = padded - w.kernel[d];
    PROA_REQUIRE(room >= 0, op, ": the kernel ", kDimNames[d], " ", w.kernel[d],
                 " is larger than the padded input (", padded, "); x is ",
                 ToString(input));
    g.out[d] = (a.ceil_mode ? room + w.stride[d] - 1 : room) / w.stride[d] + 1;
  }
  return g;
}

PoolGeometry AdaptivePoolGeometryOf(const char* op, const Shape& input,
                                    std::span<const int64_t> output_size,
                                    std::string_view data_format) {
  PoolGeometry g = ImageGeometry(op, input, data_format);
  g.adaptive = true;
  ReadPair(op, "output_size", output_size, -1, g.out);
  for (int d = 0; d < 2; ++d) {
    PROA_REQUIRE(g.out[d] != 0, op, ": output_size 0 would leave no element");
    if (g.out[d] == -1) g.out[d] = g.in[d];
  }
  return g;
}

}  // namespace proa::inline v0::ops
