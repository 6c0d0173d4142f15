// Where maxima are: int32 places (plane * height + row) * width + column in
// their image, -1 for a window without elements; and what goes by them.
#ifndef PROA_OPS_NN_POOL_PLACES_H_
#define PROA_OPS_NN_POOL_PLACES_H_

#include <algorithm>
#include <cstdint>

#include "ops/nn/pool_geometry.h"
#include "ops/nn/pool_loops.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// Calls f(block) for every image and channel block, in parallel.
template <typename F>
void ForEachPoolBlock(const PoolGeometry& g, F&& f) {
  const int64_t block = g.channels_last() ? kPoolChannelBlock : 1;
  const int64_t blocks = (g.channels + block - 1) / block;
  const int64_t work = std::max<int64_t>(g.in_pixels() * block, 1);
  const int64_t step = g.channels_last() ? g.channels : 1;
  PoolBlock steps{};
  for (int64_t d = kMostSpatialDims - 1, in = step, out = step; d >= 0; --d) {
    steps.in_step[d] = in;
    steps.out_step[d] = out;
    in *= g.in[d];
    out *= g.out[d];
  }
  parallel_for(0, g.batch * blocks, std::max<int64_t>(1, 16384 / work),
               [&](int64_t begin, int64_t end) {
                 PoolBlock b = steps;
                 for (int64_t t = begin; t < end; ++t) {
                   const bool last = g.channels_last();
                   // Of one channel they are counted as t is.
                   const int64_t image = last ? t / blocks * g.channels : t;
                   const int64_t c = last ? t % blocks * block : 0;
                   b.in_start = last ? image * g.in_pixels() + c
                                     : (image + c) * g.in_pixels();
                   b.out_start = last ? image * g.out_pixels() + c
                                      : (image + c) * g.out_pixels();
                   b.channels = std::min(block, g.channels - c);
                   f(b);
                 }
               });
}

// Throws Error if the places of an image are no int32.
void RequirePlaces(const char* op, const PoolGeometry& g);

// Calls f(out_offset, in_offset) for each stored place; -1 gives the offset -1.
// Throws Error for places outside of the image.
template <typename F>
void ForEachPlace(const char* op, const PoolGeometry& g, const int32_t* places,
                  F&& f) {
  const int64_t area = g.in_pixels(), outputs = g.out_pixels();
  ForEachPoolBlock(g, [&](const PoolBlock& b) {
    for (int64_t i = 0; i < outputs; ++i) {
      for (int64_t c = 0; c < b.channels; ++c) {
        const int64_t o = b.out_start + i * b.out_step[2] + c;
        const int64_t at = places[o];
        if (at == -1) {
          f(o, int64_t{-1});
          continue;
        }
        if (at < 0 || at >= area) {
          Fail(absl::StatusCode::kOutOfRange, op, ": index ", at,
               " is out of range for an image of ", ToString(g.InputShape()));
        }
        f(o, b.in_start + at * b.in_step[2] + c);
      }
    }
  });
}

// out = zeros, and each value added where its place says. All are row-major.
void AddToPlaces(const char* op, const PoolGeometry& g, const Tensor& values,
                 const Tensor& places, const Tensor& out);
// The same, but of several values for one place the last stays.
void PutToPlaces(const char* op, const PoolGeometry& g, const Tensor& values,
                 const Tensor& places, const Tensor& out);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_POOL_PLACES_H_
