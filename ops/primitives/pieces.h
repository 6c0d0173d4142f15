// Functions that have a shorter formula for most arguments.
#ifndef PROA_OPS_PRIMITIVES_PIECES_H_
#define PROA_OPS_PRIMITIVES_PIECES_H_

#include <cstdint>
#include <cstring>

#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops {

// out[i] = All::Apply(x[i]); by Inner::Of, which gives the same bits, in pieces
// where Inner::Number of each argument is less than Inner::kEnd. Numbers are
// unsigned integers, since the largest of many of them takes no branch.
template <class Inner, class All, class T>
PROA_HD void MapPieces(const T* x, T* out, int64_t n) {
  constexpr int64_t kPiece = 256;
  for (int64_t i = 0; i < n; i += kPiece, x += kPiece, out += kPiece) {
    const int64_t m = n - i < kPiece ? n - i : kPiece;
    decltype(Inner::Number(T(0))) largest = 0;
    for (int64_t j = 0; j < m; ++j) {
      const auto number = Inner::Number(x[j]);
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

// out[i] = Inner::Of(x[i]), or Rare::Apply(x[i]) where Inner::Number(x[i]) is
// Inner::kEnd or more, for functions whose formula does not hold for a few
// arguments. Each element goes its own way, whatever its neighbours are.
template <class Inner, class Rare, class T>
PROA_HD void MapMost(const T* x, T* out, int64_t n) {
  constexpr int64_t kPiece = 256;
  T y[kPiece];  // out may be x, which is asked for again
  for (int64_t i = 0; i < n; i += kPiece, x += kPiece, out += kPiece) {
    const int64_t m = n - i < kPiece ? n - i : kPiece;
    decltype(Inner::Number(T(0))) largest = 0;
    for (int64_t j = 0; j < m; ++j) {
      const auto number = Inner::Number(x[j]);
      largest = number > largest ? number : largest;
    }
    const bool rare = largest >= Inner::kEnd;
    T* const to = rare ? y : out;
#pragma GCC ivdep
    for (int64_t j = 0; j < m; ++j) to[j] = Inner::Of(x[j]);
    if (!rare) continue;
    for (int64_t j = 0; j < m; ++j) {
      if (Inner::Number(x[j]) >= Inner::kEnd) y[j] = Rare::Apply(x[j]);
    }
    std::memcpy(out, y, sizeof(T) * static_cast<size_t>(m));
  }
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_PIECES_H_
