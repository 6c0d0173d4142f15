#include "ops/nn/conv_geometry.h"

#include <algorithm>

#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

// Attributes beyond this are mistakes; below it sums of a few products of them
// with sizes cannot overflow.
constexpr int64_t kMaxAttribute = int64_t{1} << 31;

bool Differ(int64_t a, int64_t b) {
  return a != b && a != kUnknownDim && b != kUnknownDim;
}

constexpr const char* kDimNames[2] = {"height", "width"};

int ChannelDim(bool channels_last) { return channels_last ? 3 : 1; }
int SpatialDim(bool channels_last, int d) {
  return (channels_last ? 1 : 2) + d;
}

// Everything but the sizes of the images.
ConvGeometry CommonGeometry(const char* op, const Shape& weight,
                            const ConvAttributes& a) {
  ConvGeometry g;
  g.channels_last = IsChannelsLast(op, a.data_format);
  PROA_REQUIRE(weight.rank() == 4, op,
               ": weight must be [out, in / groups, height, width]; it is ",
               ToString(weight));
  PROA_REQUIRE(a.groups >= 1, op, ": groups is ", a.groups, ", not positive");
  g.groups = a.groups;
  ReadPair(op, "stride", a.stride, 1, g.window.stride);
  ReadPair(op, "dilation", a.dilation, 1, g.window.dilation);
  ReadPadding(op, a.padding, g.window);
  for (int d = 0; d < 2; ++d) {
    g.window.kernel[d] = weight[2 + d];
    PROA_REQUIRE(
        (g.window.kernel[d] >= 1 || g.window.kernel[d] == kUnknownDim) &&
            g.window.kernel[d] < kMaxAttribute,
        op, ": the kernel ", kDimNames[d], " is ", g.window.kernel[d],
        "; weight is ", ToString(weight));
    PROA_REQUIRE(
        g.window.kernel[d] <= kMaxAttribute * 16 / g.window.dilation[d], op,
        ": dilation ", g.window.dilation[d], " times kernel ",
        g.window.kernel[d], " is too large");
  }
  return g;
}

void RequireImage(const char* op, const char* name, const Shape& s,
                  std::string_view data_format) {
  PROA_REQUIRE(s.rank() == 4, op, ": ", name, " must have 4 dims (",
               data_format, "); it is ", ToString(s));
}

void SetChannels(const char* op, const Shape& input, const Shape& weight,
                 ConvGeometry& g) {
  const int64_t per_group = weight[1];
  g.in_channels = input[ChannelDim(g.channels_last)];
  g.out_channels = weight[0];
  PROA_REQUIRE(g.in_channels == kUnknownDim || g.in_channels % g.groups == 0,
               op, ": groups ", g.groups, " does not divide the ",
               g.in_channels, " input channels; x is ", ToString(input));
  PROA_REQUIRE(g.out_channels == kUnknownDim || g.out_channels % g.groups == 0,
               op, ": groups ", g.groups, " does not divide the ",
               g.out_channels, " output channels; weight is ",
               ToString(weight));
  PROA_REQUIRE(per_group == kUnknownDim || g.in_channels == kUnknownDim ||
                   per_group * g.groups == g.in_channels,
               op, ": x has ", g.in_channels, " channels but weight has ",
               per_group, " times ", g.groups, " groups; x is ",
               ToString(input), ", weight is ", ToString(weight));
  if (g.in_channels == kUnknownDim && per_group != kUnknownDim)
    g.in_channels = per_group * g.groups;
}

}  // namespace

void ReadPair(const char* op, const char* name, std::span<const int64_t> values,
              int64_t least, int64_t out[2]) {
  PROA_REQUIRE(values.size() == 1 || values.size() == 2, op, ": ", name,
               " must be 1 or 2 numbers; it is ", ToString(values));
  for (int d = 0; d < 2; ++d) {
    out[d] = values[values.size() == 1 ? 0 : d];
    PROA_REQUIRE(out[d] >= least && out[d] < kMaxAttribute, op, ": ", name, " ",
                 out[d], " is ", out[d] < least ? "too small" : "too large",
                 "; the least is ", least);
  }
}

void ReadPadding(const char* op, std::span<const int64_t> padding, Window& w) {
  if (padding.size() != 4) {
    ReadPair(op, "padding", padding, 0, w.pad_before);
    for (int d = 0; d < 2; ++d) w.pad_after[d] = w.pad_before[d];
    return;
  }
  for (int d = 0; d < 2; ++d) {
    w.pad_before[d] = padding[2 * d];
    w.pad_after[d] = padding[2 * d + 1];
    for (int64_t p : {w.pad_before[d], w.pad_after[d]})
      PROA_REQUIRE(p >= 0 && p < kMaxAttribute, op, ": padding ", p, " is ",
                   p < 0 ? "negative" : "too large");
  }
}

bool IsChannelsLast(const char* op, std::string_view data_format) {
  if (data_format == "NCHW") return false;
  PROA_REQUIRE(data_format == "NHWC", op,
               ": data_format must be NCHW or NHWC; it is '", data_format, "'");
  return true;
}

bool ConvGeometry::empty() const {
  return batch == 0 || in_channels == 0 || out_channels == 0 || in[0] == 0 ||
         in[1] == 0 || out[0] == 0 || out[1] == 0;
}

Shape ConvGeometry::ImageShape(int64_t channels, const int64_t size[2]) const {
  if (channels_last) return {batch, size[0], size[1], channels};
  return {batch, channels, size[0], size[1]};
}

ConvGeometry GeometryOf(const char* op, const Shape& input, const Shape& weight,
                        const ConvAttributes& a) {
  ConvGeometry g = CommonGeometry(op, weight, a);
  RequireImage(op, "x", input, a.data_format);
  SetChannels(op, input, weight, g);
  g.batch = input[0];
  for (int d = 0; d < 2; ++d) {
    const Window& w = g.window;
    g.in[d] = input[SpatialDim(g.channels_last, d)];
    if (g.in[d] == kUnknownDim || w.kernel[d] == kUnknownDim) {
      g.out[d] = kUnknownDim;
      continue;
    }
    const int64_t padded = g.in[d] + w.pad_before[d] + w.pad_after[d];
    PROA_REQUIRE(padded >= w.Extent(d), op, ": the kernel (", kDimNames[d], " ",
                 w.Extent(d),
                 " with dilation) is larger than the padded input (", padded,
                 "); x is ", ToString(input), ", weight is ", ToString(weight));
    g.out[d] = (padded - w.Extent(d)) / w.stride[d] + 1;
  }
  return g;
}

ConvGeometry GeometryOf(const char* op, const Shape& input, const Shape& weight,
                        const Shape& output, const ConvAttributes& a) {
  ConvGeometry g = GeometryOf(op, input, weight, a);
  RequireImage(op, "grad_out", output, a.data_format);
  const Shape expected = g.OutputShape();
  for (int d = 0; d < 4; ++d) {
    PROA_REQUIRE(!Differ(expected[d], output[d]), op, ": grad_out is ",
                 ToString(output), "; a convolution of ", ToString(input),
                 " with ", ToString(weight), " gives ", ToString(expected));
  }
  if (g.batch == kUnknownDim) g.batch = output[0];
  for (int d = 0; d < 2; ++d)
    if (g.out[d] == kUnknownDim)
      g.out[d] = output[SpatialDim(g.channels_last, d)];
  return g;
}

ConvGeometry TransposeGeometryOf(const char* op, const Shape& x,
                                 const Shape& weight, const ConvAttributes& a,
                                 std::span<const int64_t> output_padding,
                                 std::span<const int64_t> output_size) {
  ConvGeometry g = CommonGeometry(op, weight, a);
  RequireImage(op, "x", x, a.data_format);
  g.batch = x[0];
  g.out_channels = x[ChannelDim(g.channels_last)];
  PROA_REQUIRE(!Differ(g.out_channels, weight[0]), op, ": x has ",
               g.out_channels, " channels but weight takes ", weight[0],
               "; x is ", ToString(x), ", weight is ", ToString(weight));
  if (g.out_channels == kUnknownDim) g.out_channels = weight[0];
  PROA_REQUIRE(g.out_channels == kUnknownDim || g.out_channels % g.groups == 0,
               op, ": groups ", g.groups, " does not divide the ",
               g.out_channels, " input channels; x is ", ToString(x));
  g.in_channels = weight[1] == kUnknownDim ? kUnknownDim : weight[1] * g.groups;
  int64_t more[2] = {0, 0}, wanted[2] = {0, 0};
  if (!output_padding.empty())
    ReadPair(op, "output_padding", output_padding, 0, more);
  if (!output_size.empty()) ReadPair(op, "output_size", output_size, 1, wanted);
  for (int d = 0; d < 2; ++d) {
    const Window& w = g.window;
    g.out[d] = x[SpatialDim(g.channels_last, d)];
    PROA_REQUIRE(
        more[d] < w.stride[d] || more[d] < w.dilation[d] || more[d] == 0, op,
        ": output_padding ", more[d], " is not smaller than the stride ",
        w.stride[d], " or the dilation ", w.dilation[d]);
    if (g.out[d] == kUnknownDim || w.kernel[d] == kUnknownDim) {
      g.in[d] = output_size.empty() ? kUnknownDim : wanted[d];
      continue;
    }
    const int64_t least = CheckedMul(g.out[d] - 1, w.stride[d]) + w.Extent(d) -
                          w.pad_before[d] - w.pad_after[d];
    g.in[d] = output_size.empty() ? least + more[d] : wanted[d];
    // An image without pixels is what no convolution gives.
    PROA_REQUIRE(g.in[d] >= 1 && g.out[d] >= 1, op, ": the output ",
                 kDimNames[d], " would be ", g.in[d], "; x is ", ToString(x),
                 ", weight is ", ToString(weight));
    PROA_REQUIRE(g.in[d] >= least &&
                     g.in[d] < least + std::max(w.stride[d], more[d] + 1),
                 op, ": output_size ", g.in[d], " is not in [", least, ", ",
                 least + w.stride[d], "), what ", kDimNames[d], " ", g.out[d],
                 " can come from");
  }
  return g;
}

}  // namespace proa::inline v0::ops
