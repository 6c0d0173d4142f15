// ConvGeometry: the sizes of a convolution of one to three spatial dims,
// checked, in one place for shape rules and kernels.
//
// Data is [N, C, H, W] ("NCHW"), [N, H, W, C] ("NHWC"), or has one dim less or
// more: "NCL", "NLC", "NCDHW", "NDHWC". Weight is always [O, C / groups, KH,
// KW], or has as many dims as there are.
#ifndef PROA_OPS_NN_CONV_GEOMETRY_H_
#define PROA_OPS_NN_CONV_GEOMETRY_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "ops/nn/window.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops {

struct ConvGeometry {
  ImageFormat format;
  int64_t batch = 0;
  int64_t in_channels = 0, out_channels = 0, groups = 1;
  // Height and width, or what dims there are, the outermost first. Those behind
  // `dims()` are 1, with a window of one element.
  int64_t in[kMostSpatialDims] = {1, 1, 1};
  int64_t out[kMostSpatialDims] = {1, 1, 1};
  Window window;

  int dims() const { return format.dims; }
  int64_t in_channels_per_group() const { return in_channels / groups; }
  int64_t out_channels_per_group() const { return out_channels / groups; }
  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const {
    return window.kernel[0] * window.kernel[1] * window.kernel[2];
  }
  Shape InputShape() const { return format.ShapeOf(batch, in_channels, in); }
  Shape OutputShape() const { return format.ShapeOf(batch, out_channels, out); }
  Shape WeightShape() const;
  bool empty() const;
};

struct ConvAttributes {
  WindowAttributes window;
  int64_t groups;
  std::string_view data_format;
};

// Of a forward convolution; the output size follows. Dims may be kUnknownDim.
// `dims`: how many spatial dims there must be; 0: as data_format says. Throws
// Error when the sizes do not fit or an output would be empty.
ConvGeometry GeometryOf(const char* op, const Shape& input, const Shape& weight,
                        const ConvAttributes& a, int dims = 0);

// As above, and checks that `output` is what such a convolution gives.
ConvGeometry GeometryOf(const char* op, const Shape& input, const Shape& weight,
                        const Shape& output, const ConvAttributes& a);

struct TransposeAttributes {
  ConvAttributes conv;
  std::span<const int64_t> output_padding;  // or empty
  std::span<const int64_t> output_size;     // or empty
};

// The convolution whose input gradient a transposed convolution is: x [N, O, h,
// w] and weight [O, C / groups, KH, KW] give [N, C, H, W] with H = (h - 1) *
// stride - padding + extent + output_padding, or output_size. SAME padding is
// that of a convolution of x.
struct TransposeGeometry {
  ConvGeometry conv;
  // Outputs of `conv` behind those that x has, where output_padding is not
  // smaller than the stride. They are zero.
  int64_t behind[kMostSpatialDims] = {0, 0, 0};

  bool HasOutputsBehind() const {
    return behind[0] > 0 || behind[1] > 0 || behind[2] > 0;
  }
};

TransposeGeometry TransposeGeometryOf(const char* op, const Shape& x,
                                      const Shape& weight,
                                      const TransposeAttributes& a,
                                      int dims = 0);

// The same of at least two spatial dims: [N, C, L] as [N, C, 1, L].
ConvGeometry WithTwoDims(const ConvGeometry& g);

// The same with its dims as the last of three: lines of taps lie along the
// innermost one. `format` says still how many there are.
ConvGeometry WithInnerDims(const ConvGeometry& g);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_GEOMETRY_H_
