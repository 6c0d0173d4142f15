#include "ops/vision/pixel_planes.h"

namespace proa::inline v0::ops {
namespace {

// The three channels of a pixel together: each byte of a row is loaded once.
void ThreePlanes(const Pixels& p, bool mirrored, const float* table,
                 float* planes) {
  const int64_t plane = p.height * p.width;
  for (int64_t y = 0; y < p.height; ++y) {
    const uint8_t* from = p.data + y * p.row_bytes;
    float* const to = planes + y * p.width;
    const int64_t step = mirrored ? -3 : 3;
    if (mirrored) from += 3 * (p.width - 1);
    for (int64_t x = 0; x < p.width; ++x, from += step) {
      to[x] = table[from[0]];
      to[x + plane] = table[256 + from[1]];
      to[x + 2 * plane] = table[512 + from[2]];
    }
  }
}

}  // namespace

void PixelPlanes(const Pixels& p, bool mirrored, const float* table,
                 float* planes) {
  if (p.channels == 3) return ThreePlanes(p, mirrored, table, planes);
  for (int64_t c = 0; c < p.channels; ++c, table += 256) {
    for (int64_t y = 0; y < p.height; ++y) {
      const uint8_t* const row = p.data + y * p.row_bytes + c;
      for (int64_t x = 0; x < p.width; ++x)
        *planes++ = table[row[(mirrored ? p.width - 1 - x : x) * p.channels]];
    }
  }
}

}  // namespace proa::inline v0::ops
