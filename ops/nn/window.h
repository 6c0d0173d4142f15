// Images of one, two or three spatial dims, and how windows walk over them:
// what convolutions and pools share. Attributes are read and checked here.
#ifndef PROA_OPS_NN_WINDOW_H_
#define PROA_OPS_NN_WINDOW_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/shape.h"

namespace proa::inline v0::ops {

inline constexpr int kMostSpatialDims = 3;

// What `data_format` says: "NCL", "NCHW", "NCDHW" or "NLC", "NHWC", "NDHWC".
struct ImageFormat {
  int dims = 2;  // spatial ones
  bool channels_last = false;

  int rank() const { return dims + 2; }
  int channel_dim() const { return channels_last ? dims + 1 : 1; }
  int spatial_dim(int d) const { return (channels_last ? 1 : 2) + d; }
  // "height", or what else spatial dim d is called.
  const char* dim_name(int d) const;
  Shape ShapeOf(int64_t batch, int64_t channels, const int64_t* sizes) const;
};

// Whether images of this format have their channels in dim 1 and may lie
// channels-last.
inline bool HasChannelsFirst(std::string_view data_format) {
  return data_format.size() >= 3 && data_format[1] == 'C';
}

// The dim of channels of any format, "NC" too, in a tensor of `rank` dims: the
// one place that says so.
inline int ChannelDimOf(int rank, std::string_view data_format) {
  return data_format.size() > 2 && data_format.back() == 'C' ? rank - 1 : 1;
}

// Throws Error for other formats, and for those of other than `dims` spatial
// dims (0: any).
ImageFormat ReadFormat(const char* op, std::string_view data_format,
                       int dims = 0);

// Throws Error unless `s` has the dims of an image. `name` is the parameter.
void RequireImage(const char* op, const char* name, const Shape& s,
                  const ImageFormat& format, std::string_view data_format);

// As attributes give it: numbers for each spatial dim, or one for all of them.
struct WindowAttributes {
  std::span<const int64_t> stride;
  // One number, one for each dim, or two for each: before and after it.
  std::span<const int64_t> padding;
  std::span<const int64_t> dilation;
  // "EXPLICIT": padding as given. "VALID": none. "SAME": as much as makes
  // ceil(size / stride) outputs, the odd one after the image.
  std::string_view padding_algorithm;
};

struct Window {
  int64_t kernel[kMostSpatialDims] = {1, 1, 1};
  int64_t stride[kMostSpatialDims] = {1, 1, 1};
  int64_t dilation[kMostSpatialDims] = {1, 1, 1};
  int64_t pad_before[kMostSpatialDims] = {0, 0, 0};  // top, left
  int64_t pad_after[kMostSpatialDims] = {0, 0, 0};   // bottom, right

  // The span of input that one output element sees along dim d.
  int64_t Extent(int d) const { return dilation[d] * (kernel[d] - 1) + 1; }
};

// `dims` numbers, or one for all, each >= `least`.
void ReadNumbers(const char* op, const char* name,
                 std::span<const int64_t> values, int64_t least, int dims,
                 int64_t* out);

// Sets pad_before and pad_after, for an image of `sizes`; kernel, stride and
// dilation are set already. Of an unknown size or kernel SAME padding stays 0.
void ReadPadding(const char* op, const WindowAttributes& a,
                 const int64_t* sizes, int dims, Window& w);

// Attributes beyond this are mistakes; below it sums of a few products of them
// with sizes cannot overflow.
inline constexpr int64_t kMostOfAttribute = int64_t{1} << 31;

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_WINDOW_H_
