// PoolGeometry: the sizes of a pooling of one to three spatial dims, checked,
// for shape rules and kernels.
//
// Windows see only real elements: padding is never a maximum and, unless asked
// for, not counted in a mean. Padding must be smaller than the kernel. With
// ceil_mode the last window may start behind the image and so hold no element:
// its mean is NaN, or 0 if padding counts; its maximum is the lowest number,
// from the place -1.
#ifndef PROA_OPS_NN_POOL_GEOMETRY_H_
#define PROA_OPS_NN_POOL_GEOMETRY_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "ops/nn/window.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops {

struct PoolAttributes {
  std::span<const int64_t> kernel_size;
  std::span<const int64_t> stride;  // empty: the kernel size
  std::span<const int64_t> padding;
  bool ceil_mode;
  std::string_view data_format;
  std::string_view padding_algorithm;
};

struct PoolGeometry {
  ImageFormat format;
  bool adaptive = false;
  int64_t batch = 0, channels = 0;
  // Depth, height, width. Images of fewer dims have 1 of the first, and windows
  // of one element there.
  int64_t in[kMostSpatialDims] = {1, 1, 1};
  int64_t out[kMostSpatialDims] = {1, 1, 1};
  Window window;  // unless adaptive

  bool channels_last() const { return format.channels_last; }
  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  Shape InputShape() const { return ImageShape(in); }
  Shape OutputShape() const { return ImageShape(out); }

  // The input positions [begin, end) that output position i of dim d sees.
  void Range(int d, int64_t i, int64_t* begin, int64_t* end) const {
    if (adaptive && out[d] == 1) {  // without divisions
      *begin = 0;
      *end = in[d];
    } else if (adaptive) {
      *begin = i * in[d] / out[d];
      *end = ((i + 1) * in[d] + out[d] - 1) / out[d];
    } else {
      const int64_t first = i * window.stride[d] - window.pad_before[d];
      *begin = std::max<int64_t>(first, 0);
      *end = std::min(first + window.kernel[d], in[d]);
    }
  }

  // By how many positions of dim d the mean at output position i divides: those
  // inside the image, or unless `exclusive` also those in its padding
  // (ceil_mode has windows that reach over it).
  int64_t Counted(int d, int64_t i, bool exclusive) const {
    int64_t begin, end;
    Range(d, i, &begin, &end);
    if (exclusive || adaptive) return std::max<int64_t>(end - begin, 0);
    const int64_t first = i * window.stride[d] - window.pad_before[d];
    return std::min(window.kernel[d], in[d] + window.pad_after[d] - first);
  }

  // Whether to go tap by tap along dim d: not if a window has more taps than
  // the image has positions, since absurd ones have 2^31, of which few see
  // anything.
  bool ByTaps(int d) const { return !adaptive && window.kernel[d] <= in[d]; }

  // The output positions [first, last) of dim d for which tap q of the kernel
  // is inside the image; unless adaptive.
  void OutputsOfTap(int d, int64_t q, int64_t* first, int64_t* last) const {
    const int64_t s = window.stride[d], shift = window.pad_before[d] - q;
    *first = shift > 0 ? (shift + s - 1) / s : 0;
    const int64_t end = in[d] + shift;  // i * s < end
    *last = end <= 0 ? 0 : std::min(out[d], (end + s - 1) / s);
  }

 private:
  Shape ImageShape(const int64_t* size) const {
    return format.ShapeOf(batch, channels,
                          size + kMostSpatialDims - format.dims);
  }
};

// Rows of one image [depth, height, width, channels], counted through all
// planes: of its outputs, or for a gradient of its inputs. Or all rows of some
// images, one behind the other.
struct PoolRows {
  int64_t in_start, out_start;  // first elements of the first image
  int64_t channels;             // 1: an image of one channel
  int64_t first, last;
  int64_t images = 1;   // for a gradient of several channels 1
  bool stream = false;  // a gradient is stored past the caches (streaming.h)
};

// Dims may be kUnknownDim. `dims`: how many spatial ones there must be; 0: as
// data_format says. Throws Error when the sizes do not fit.
PoolGeometry PoolGeometryOf(const char* op, const Shape& input,
                            const PoolAttributes& a, int dims = 0);
// output_size: one number or one for each dim; -1 keeps the size of the input.
PoolGeometry AdaptivePoolGeometryOf(const char* op, const Shape& input,
                                    std::span<const int64_t> output_size,
                                    std::string_view data_format, int dims = 0);
// An image seen as a pooling whose windows are unimportant, for what goes by
// stored indices.
PoolGeometry IndexGeometryOf(const char* op, const Shape& input,
                             const Shape& output, std::string_view data_format);

struct UnpoolAttributes {
  std::span<const int64_t> kernel_size;
  std::span<const int64_t> stride;  // empty: the kernel size
  std::span<const int64_t> padding;
  std::span<const int64_t> output_size;  // or empty
  std::string_view data_format;
};

// The shape of an image that such a pooling made `x` of: (h - 1) * stride - 2
// * padding + kernel, or output_size.
Shape UnpooledShape(const char* op, const Shape& x, const UnpoolAttributes& a,
                    int dims);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_POOL_GEOMETRY_H_
