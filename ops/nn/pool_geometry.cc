#include "ops/nn/pool_geometry.h"

#include <algorithm>

#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

PoolGeometry ImageGeometry(const char* op, const Shape& input,
                           std::string_view data_format, int dims) {
  PoolGeometry g;
  g.format = ReadFormat(op, data_format, dims);
  RequireImage(op, "x", input, g.format, data_format);
  g.batch = input[0];
  g.channels = input[g.format.channel_dim()];
  return g;
}

// `n` numbers at the end of three, and `otherwise` before them.
void AlignRight(int64_t* v, int n, int64_t otherwise) {
  std::copy_backward(v, v + n, v + kMostSpatialDims);
  std::fill_n(v, kMostSpatialDims - n, otherwise);
}

// Sizes were read in the order of the dims of the image.
void AlignRight(PoolGeometry& g) {
  Window& w = g.window;
  for (int64_t* v : {g.in, g.out, w.kernel, w.stride, w.dilation})
    AlignRight(v, g.format.dims, 1);
  for (int64_t* v : {w.pad_before, w.pad_after})
    AlignRight(v, g.format.dims, 0);
}

void ReadInput(const char* op, const Shape& input, PoolGeometry& g) {
  for (int d = 0; d < g.format.dims; ++d) {
    g.in[d] = input[g.format.spatial_dim(d)];
    PROA_REQUIRE(g.in[d] != 0, op, ": the input ", g.format.dim_name(d),
                 " is 0; x is ", ToString(input));
  }
}

}  // namespace

PoolGeometry PoolGeometryOf(const char* op, const Shape& input,
                            const PoolAttributes& a, int dims) {
  PoolGeometry g = ImageGeometry(op, input, a.data_format, dims);
  ReadInput(op, input, g);
  Window& w = g.window;
  const int n = g.format.dims;
  const auto stride = a.stride.empty() ? a.kernel_size : a.stride;
  ReadNumbers(op, "kernel_size", a.kernel_size, 1, n, w.kernel);
  ReadNumbers(op, "stride", stride, 1, n, w.stride);
  ReadPadding(op, {stride, a.padding, {}, a.padding_algorithm}, g.in, n, w);
  for (int d = 0; d < n; ++d) {
    const int64_t padding = std::max(w.pad_before[d], w.pad_after[d]);
    const char* name = g.format.dim_name(d);
    PROA_REQUIRE(padding < w.kernel[d], op, ": padding ", padding,
                 " is not smaller than the kernel ", name, " ", w.kernel[d]);
    if (IsUnknown(g.in[d])) {
      g.out[d] = kUnknownDim;
      continue;
    }
    const int64_t padded = g.in[d] + w.pad_before[d] + w.pad_after[d];
    const int64_t room = padded - w.kernel[d];
    // As in the reference, whose division drops what is below a stride: a
    // kernel that is not much larger than the input has one window.
    PROA_REQUIRE(room > -w.stride[d], op, ": the kernel ", name, " ",
                 w.kernel[d], " is larger than the padded input (", padded,
                 ") by the stride or more; x is ", ToString(input));
    g.out[d] = (a.ceil_mode ? room + w.stride[d] - 1 : room) / w.stride[d] + 1;
  }
  AlignRight(g);
  return g;
}

PoolGeometry AdaptivePoolGeometryOf(const char* op, const Shape& input,
                                    std::span<const int64_t> output_size,
                                    std::string_view data_format, int dims) {
  PoolGeometry g = ImageGeometry(op, input, data_format, dims);
  ReadInput(op, input, g);
  g.adaptive = true;
  ReadNumbers(op, "output_size", output_size, -1, g.format.dims, g.out);
  for (int d = 0; d < g.format.dims; ++d) {
    PROA_REQUIRE(g.out[d] != 0, op, ": output_size 0 would leave no element");
    if (g.out[d] == -1) g.out[d] = g.in[d];
  }
  AlignRight(g);
  return g;
}

PoolGeometry IndexGeometryOf(const char* op, const Shape& input,
                             const Shape& output,
                             std::string_view data_format) {
  PoolGeometry g = ImageGeometry(op, input, data_format, 0);
  for (int d = 0; d < g.format.dims; ++d) {
    g.in[d] = input[g.format.spatial_dim(d)];
    g.out[d] = output[g.format.spatial_dim(d)];
  }
  AlignRight(g);
  return g;
}

Shape UnpooledShape(const char* op, const Shape& x, const UnpoolAttributes& a,
                    int dims) {
  const PoolGeometry g = ImageGeometry(op, x, a.data_format, dims);
  const int n = g.format.dims;
  int64_t kernel[kMostSpatialDims], stride[kMostSpatialDims];
  int64_t padding[kMostSpatialDims], size[kMostSpatialDims];
  ReadNumbers(op, "kernel_size", a.kernel_size, 1, n, kernel);
  ReadNumbers(op, "stride", a.stride.empty() ? a.kernel_size : a.stride, 1, n,
              stride);
  ReadNumbers(op, "padding", a.padding, 0, n, padding);
  if (!a.output_size.empty()) {
    ReadNumbers(op, "output_size", a.output_size, kUnknownDim, n, size);
  } else {
    for (int d = 0; d < n; ++d) {
      const int64_t from = x[g.format.spatial_dim(d)];
      size[d] = IsUnknown(from) ? kUnknownDim
                                : CheckedMul(from - 1, stride[d]) -
                                      2 * padding[d] + kernel[d];
      PROA_REQUIRE(IsUnknown(from) || size[d] >= 0, op, ": the output ",
                   g.format.dim_name(d), " would be ", size[d], "; x is ",
                   ToString(x));
    }
  }
  return g.format.ShapeOf(g.batch, g.channels, size);
}

}  // namespace proa::inline v0::ops
