#include "ops/nn/conv_geometry.h"

#include <algorithm>

#include "ops/nn/open_outputs.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

// [out, in / groups, height, width]
std::string WeightDims(const ImageFormat& f) {
  std::string text = "[out, in / groups";
  for (int d = 0; d < f.dims; ++d) text += std::string(", ") + f.dim_name(d);
  return text + "]";
}

// Everything but the sizes of the images, and the padding, which may depend on
// them.
ConvGeometry CommonGeometry(const char* op, const Shape& weight,
                            const ConvAttributes& a, int dims) {
  ConvGeometry g;
  g.format = ReadFormat(op, a.data_format, dims);
  PROA_REQUIRE(weight.rank() == g.format.rank(), op, ": weight must be ",
               WeightDims(g.format), "; it is ", ToString(weight));
  PROA_REQUIRE(a.groups >= 1, op, ": groups is ", a.groups, ", not positive");
  g.groups = a.groups;
  Window& w = g.window;
  ReadNumbers(op, "stride", a.window.stride, 1, g.dims(), w.stride);
  ReadNumbers(op, "dilation", a.window.dilation, 1, g.dims(), w.dilation);
  for (int d = 0; d < g.dims(); ++d) {
    w.kernel[d] = weight[2 + d];
    PROA_REQUIRE((w.kernel[d] >= 1 || IsUnknown(w.kernel[d])) &&
                     w.kernel[d] < kMostOfAttribute,
                 op, ": the kernel ", g.format.dim_name(d), " is ", w.kernel[d],
                 "; weight is ", ToString(weight));
    PROA_REQUIRE(w.kernel[d] <= kMostOfAttribute * 16 / w.dilation[d], op,
                 ": dilation ", w.dilation[d], " times kernel ", w.kernel[d],
                 " is too large");
  }
  return g;
}

void SetChannels(const char* op, const Shape& input, const Shape& weight,
                 ConvGeometry& g) {
  const int64_t per_group = weight[1];
  g.in_channels = input[g.format.channel_dim()];
  g.out_channels = weight[0];
  PROA_REQUIRE(IsUnknown(g.in_channels) || g.in_channels % g.groups == 0, op,
               ": groups ", g.groups, " does not divide the ", g.in_channels,
               " input channels; x is ", ToString(input));
  PROA_REQUIRE(IsUnknown(g.out_channels) || g.out_channels % g.groups == 0, op,
               ": groups ", g.groups, " does not divide the ", g.out_channels,
               " output channels; weight is ", ToString(weight));
  PROA_REQUIRE(IsUnknown(per_group) || IsUnknown(g.in_channels) ||
                   per_group * g.groups == g.in_channels,
               op, ": x has ", g.in_channels, " channels but weight has ",
               per_group, " times ", g.groups, " groups; x is ",
               ToString(input), ", weight is ", ToString(weight));
  if (IsUnknown(g.in_channels) && !IsUnknown(per_group))
    g.in_channels = per_group * g.groups;
}

// The number of outputs along dim d.
int64_t Outputs(const char* op, const ConvGeometry& g, int d, bool same,
                const Shape& input, const Shape& weight) {
  const Window& w = g.window;
  if (same) {
    return IsUnknown(g.in[d])
               ? OpenOutputs(g.in[d], w.stride[d] - 1, w.stride[d])
               : (g.in[d] + w.stride[d] - 1) / w.stride[d];
  }
  if (IsUnknown(w.kernel[d])) return kUnknownDim;
  if (IsUnknown(g.in[d])) {
    return OpenOutputs(
        g.in[d], w.pad_before[d] + w.pad_after[d] - w.Extent(d) + w.stride[d],
        w.stride[d]);
  }
  const int64_t padded = g.in[d] + w.pad_before[d] + w.pad_after[d];
  PROA_REQUIRE(padded >= w.Extent(d), op, ": the kernel (",
               g.format.dim_name(d), " ", w.Extent(d),
               " with dilation) is larger than the padded input (", padded,
               "); x is ", ToString(input), ", weight is ", ToString(weight));
  return (padded - w.Extent(d)) / w.stride[d] + 1;
}

// Sets the size and the outputs behind along dim d of a transposed convolution,
// whose x has `from` there.
void SetTransposedSize(const char* op, int d, int64_t from, int64_t more,
                       int64_t wanted, TransposeGeometry& t) {
  ConvGeometry& g = t.conv;
  const Window& w = g.window;
  PROA_REQUIRE(more < w.stride[d] || more < w.dilation[d] || more == 0, op,
               ": output_padding ", more, " is not smaller than the stride ",
               w.stride[d], " or the dilation ", w.dilation[d]);
  g.out[d] = from;
  if (IsUnknown(from) || IsUnknown(w.kernel[d]) || IsNamed(wanted)) {
    g.in[d] = wanted;
    return;
  }
  const int64_t least = CheckedMul(from - 1, w.stride[d]) + w.Extent(d) -
                        w.pad_before[d] - w.pad_after[d];
  g.in[d] = IsUnknown(wanted) ? least + more : wanted;
  const char* name = g.format.dim_name(d);
  // An image without pixels is what no convolution gives.
  PROA_REQUIRE(g.in[d] >= 1 && from >= 1, op, ": the output ", name,
               " would be ", g.in[d], "; x has ", from, ", the kernel ",
               w.kernel[d]);
  PROA_REQUIRE(
      g.in[d] >= least && g.in[d] < least + std::max(w.stride[d], more + 1), op,
      ": output_size ", g.in[d], " is not in [", least, ", ",
      least + w.stride[d], "), what ", name, " ", from, " can come from");
  t.behind[d] = (g.in[d] - least) / w.stride[d];
  g.out[d] += t.behind[d];
}

}  // namespace

Shape ConvGeometry::WeightShape() const {
  Shape shape{out_channels, in_channels_per_group()};
  for (int d = 0; d < dims(); ++d) shape.push_back(window.kernel[d]);
  return shape;
}

bool ConvGeometry::empty() const {
  return batch == 0 || in_channels == 0 || out_channels == 0 ||
         in_pixels() == 0 || out_pixels() == 0;
}

ConvGeometry GeometryOf(const char* op, const Shape& input, const Shape& weight,
                        const ConvAttributes& a, int dims) {
  ConvGeometry g = CommonGeometry(op, weight, a, dims);
  RequireImage(op, "x", input, g.format, a.data_format);
  SetChannels(op, input, weight, g);
  g.batch = input[0];
  for (int d = 0; d < g.dims(); ++d) g.in[d] = input[g.format.spatial_dim(d)];
  ReadPadding(op, a.window, g.in, g.dims(), g.window);
  const bool same = a.window.padding_algorithm == "SAME";
  for (int d = 0; d < g.dims(); ++d)
    g.out[d] = Outputs(op, g, d, same, input, weight);
  return g;
}

ConvGeometry GeometryOf(const char* op, const Shape& input, const Shape& weight,
                        const Shape& output, const ConvAttributes& a) {
  ConvGeometry g = GeometryOf(op, input, weight, a);
  RequireImage(op, "grad_out", output, g.format, a.data_format);
  const Shape expected = g.OutputShape();
  for (int d = 0; d < expected.rank(); ++d) {
    PROA_REQUIRE(!Differ(expected[d], output[d]), op, ": grad_out is ",
                 ToString(output), "; a convolution of ", ToString(input),
                 " with ", ToString(weight), " gives ", ToString(expected));
  }
  if (IsUnknown(g.batch)) g.batch = output[0];
  for (int d = 0; d < g.dims(); ++d)
    if (IsUnknown(g.out[d])) g.out[d] = output[g.format.spatial_dim(d)];
  return g;
}

TransposeGeometry TransposeGeometryOf(const char* op, const Shape& x,
                                      const Shape& weight,
                                      const TransposeAttributes& a, int dims) {
  TransposeGeometry t;
  ConvGeometry& g = t.conv = CommonGeometry(op, weight, a.conv, dims);
  RequireImage(op, "x", x, g.format, a.conv.data_format);
  g.batch = x[0];
  g.out_channels = x[g.format.channel_dim()];
  PROA_REQUIRE(!Differ(g.out_channels, weight[0]), op, ": x has ",
               g.out_channels, " channels but weight takes ", weight[0],
               "; x is ", ToString(x), ", weight is ", ToString(weight));
  if (IsUnknown(g.out_channels)) g.out_channels = weight[0];
  PROA_REQUIRE(IsUnknown(g.out_channels) || g.out_channels % g.groups == 0, op,
               ": groups ", g.groups, " does not divide the ", g.out_channels,
               " input channels; x is ", ToString(x));
  g.in_channels = IsUnknown(weight[1]) ? kUnknownDim : weight[1] * g.groups;
  int64_t sizes[kMostSpatialDims], more[kMostSpatialDims] = {0, 0, 0};
  int64_t wanted[kMostSpatialDims] = {kUnknownDim, kUnknownDim, kUnknownDim};
  for (int d = 0; d < g.dims(); ++d) sizes[d] = x[g.format.spatial_dim(d)];
  ReadPadding(op, a.conv.window, sizes, g.dims(), g.window);
  if (!a.output_padding.empty())
    ReadNumbers(op, "output_padding", a.output_padding, 0, g.dims(), more);
  if (!a.output_size.empty()) {
    ReadNumbers(op, "output_size", a.output_size, kUnknownDim, g.dims(),
                wanted);
    for (int d = 0; d < g.dims(); ++d)
      PROA_REQUIRE(wanted[d] != 0, op, ": output_size 0 is too small; the ",
                   "least is 1");
  }
  for (int d = 0; d < g.dims(); ++d)
    SetTransposedSize(op, d, sizes[d], more[d], wanted[d], t);
  return t;
}

ConvGeometry WithTwoDims(const ConvGeometry& g) {
  if (g.dims() != 1) return g;
  ConvGeometry two = g;
  two.format.dims = 2;
  const auto move = [](int64_t* v) {
    v[1] = v[0];
    v[0] = 1;
  };
  Window& w = two.window;
  for (int64_t* v : {two.in, two.out, w.kernel, w.stride, w.dilation}) move(v);
  for (int64_t* v : {w.pad_before, w.pad_after}) {
    v[1] = v[0];
    v[0] = 0;
  }
  return two;
}

ConvGeometry WithInnerDims(const ConvGeometry& g) {
  ConvGeometry out = g;
  const int shift = kMostSpatialDims - g.dims();
  const auto move = [&](int64_t(&to)[kMostSpatialDims],
                        const int64_t(&from)[kMostSpatialDims],
                        int64_t otherwise) {
    for (int d = 0; d < kMostSpatialDims; ++d)
      to[d] = d < shift ? otherwise : from[d - shift];
  };
  move(out.in, g.in, 1);
  move(out.out, g.out, 1);
  move(out.window.kernel, g.window.kernel, 1);
  move(out.window.stride, g.window.stride, 1);
  move(out.window.dilation, g.window.dilation, 1);
  move(out.window.pad_before, g.window.pad_before, 0);
  move(out.window.pad_after, g.window.pad_after, 0);
  return out;
}

}  // namespace proa::inline v0::ops
