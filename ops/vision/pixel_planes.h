// Pixels of bytes as planes of floats, by a table: what an image becomes before
// a network sees it, in one pass.
#ifndef PROA_OPS_VISION_PIXEL_PLANES_H_
#define PROA_OPS_VISION_PIXEL_PLANES_H_

#include <cstdint>

namespace proa::inline v0::ops {

struct Pixels {
  const uint8_t* data;
  int64_t height, width, channels;
  int64_t row_bytes;  // from a row to the next; may be negative
};

// planes [channels, height, width] = table [channels, 256] at each byte; rows
// from right to left if `mirrored`.
void PixelPlanes(const Pixels& pixels, bool mirrored, const float* table,
                 float* planes);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_VISION_PIXEL_PLANES_H_
