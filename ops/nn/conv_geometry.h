// ConvGeometry: the sizes of a 2-D convolution, checked, in one place for shape
// rules and kernels.
//
// Data is [N, C, H, W] ("NCHW") or [N, H, W, C] ("NHWC"); weight is always
// [O, C / groups, KH, KW].
#ifndef PROA_OPS_NN_CONV_GEOMETRY_H_
#define PROA_OPS_NN_CONV_GEOMETRY_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/shape.h"

namespace proa::inline v0::ops {

// How a window walks over an image. Read from attributes: one number for both
// dims or two; padding may also be four, [top, bottom, left, right].
struct Window {
  int64_t kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1};
  int64_t dilation[2] = {1, 1};
  int64_t pad_before[2] = {0, 0};  // top, left
  int64_t pad_after[2] = {0, 0};   // bottom, right

  // The span of input that one output element sees along dim d.
  int64_t Extent(int d) const { return dilation[d] * (kernel[d] - 1) + 1; }
};

// One or two numbers, all >= `least`.
void ReadPair(const char* op, const char* name, std::span<const int64_t> values,
              int64_t least, int64_t out[2]);
// Sets pad_before and pad_after.
void ReadPadding(const char* op, std::span<const int64_t> padding, Window& w);

// True for "NHWC", false for "NCHW", Error for anything else.
bool IsChannelsLast(const char* op, std::string_view data_format);

struct ConvGeometry {
  bool channels_last = false;
  int64_t batch = 0;
  int64_t in_channels = 0, out_channels = 0, groups = 1;
  int64_t in[2] = {0, 0};  // height, width
  int64_t out[2] = {0, 0};
  Window window;

  int64_t in_channels_per_group() const { return in_channels / groups; }
  int64_t out_channels_per_group() const { return out_channels / groups; }
  Shape InputShape() const { return ImageShape(in_channels, in); }
  Shape OutputShape() const { return ImageShape(out_channels, out); }
  Shape WeightShape() const {
    return {out_channels, in_channels_per_group(), window.kernel[0],
            window.kernel[1]};
  }
  bool empty() const;

 private:
  Shape ImageShape(int64_t channels, const int64_t size[2]) const;
};

struct ConvAttributes {
  std::span<const int64_t> stride;
  std::span<const int64_t> padding;
  std::span<const int64_t> dilation;
  int64_t groups;
  std::string_view data_format;
};

// Of a forward convolution; the output size follows. Dims may be kUnknownDim.
// Throws Error when the sizes do not fit or an output would be empty.
ConvGeometry GeometryOf(const char* op, const Shape& input, const Shape& weight,
                        const ConvAttributes& a);

// As above, and checks that `output` is what such a convolution gives.
ConvGeometry GeometryOf(const char* op, const Shape& input, const Shape& weight,
                        const Shape& output, const ConvAttributes& a);

// The geometry of the convolution whose input gradient a transposed convolution
// is: x [N, O, h, w] and weight [O, C / groups, KH, KW] give [N, C, H, W] with
// H = (h - 1) * stride - padding + extent + output_padding, or output_size. An
// output_padding of the stride or more makes room for OutputsBehind(stride,
// output_padding) more rows (columns) of x: those are zero.
ConvGeometry TransposeGeometryOf(const char* op, const Shape& x,
                                 const Shape& weight, const ConvAttributes& a,
                                 std::span<const int64_t> output_padding,
                                 std::span<const int64_t> output_size);

inline int64_t OutputsBehind(int64_t stride, int64_t output_padding) {
  return output_padding / stride;
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_GEOMETRY_H_
