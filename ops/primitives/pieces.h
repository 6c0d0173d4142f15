// Functions of float that have a shorter formula for most arguments.
#ifndef PROA_OPS_PRIMITIVES_PIECES_H_
#define PROA_OPS_PRIMITIVES_PIECES_H_

#include <cstdint>

#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops {

// out[i] = All::Apply(x[i]); by Inner::Of, which gives the same bits, in pieces
// where Inner::Number of each argument is less than Inner::kEnd. Numbers are
// unsigned integers, since the largest of many of them takes no branch.
template <class Inner, class All>
PROA_HD void MapPieces(const float* x, float* out, int64_t n) {
  constexpr int64_t kPiece = 256;
  for (int64_t i = 0; i < n; i += kPiece, x += kPiece, out += kPiece) {
    const int64_t m = n - i < kPiece ? n - i : kPiece;
    uint32_t largest = 0;
    for (int64_t j = 0; j < m; ++j) {
      const uint32_t number = Inner::Number(x[j]);
      largest = number > largest ? number : largest;
    }
    if (largest < Inner::kEnd) {
#pragma GCC ivdep
      for (int64_t j = 0; j < m; ++j) out[j] = Inner::Of(x[j]);
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < m; ++j) out[j] = All::Apply(x[j]);
    }
  }
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_PIECES_H_
