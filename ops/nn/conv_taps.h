// Which taps of a window lie inside of the image.
#ifndef PROA_OPS_NN_CONV_TAPS_H_
#define PROA_OPS_NN_CONV_TAPS_H_

#include <algorithm>
#include <cstdint>

#include "ops/nn/conv_geometry.h"

namespace proa::inline v0::ops {

// The taps [begin, end) of the kernel that fall inside the image along dim d,
// for output position `out`.
struct Taps {
  int64_t begin, end, first;  // first: input position of tap 0, may be outside
};

inline Taps TapsAt(const ConvGeometry& g, int d, int64_t out) {
  const Window& w = g.window;
  Taps t;
  t.first = out * w.stride[d] - w.pad_before[d];
  const int64_t step = w.dilation[d];
  t.begin = t.first >= 0 ? 0 : (-t.first + step - 1) / step;
  t.end = t.first >= g.in[d]
              ? 0
              : std::min(w.kernel[d], (g.in[d] - t.first + step - 1) / step);
  t.begin = std::min(t.begin, t.end);
  return t;
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_TAPS_H_
