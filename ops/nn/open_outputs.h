// Names of sizes that windows make of a size that only the run knows, so that
// two ways of convolutions from one image are known to give images of one size.
#ifndef PROA_OPS_NN_OPEN_OUTPUTS_H_
#define PROA_OPS_NN_OPEN_OUTPUTS_H_

#include <cstdint>

#include "tensor/shape.h"

namespace proa::inline v0::ops {

// floor((dim + more) / stride) of an unknown dim; stride >= 1. What windows
// make of a named dim is named by that dim and two numbers, since
// floor((floor((n + a) / s) + b) / t) = floor((n + a + b * s) / (s * t)):
// equal names are equal sizes, and a window that keeps every size keeps the
// name. kUnknownDim where dim has no name, or the numbers are large.
inline int64_t OpenOutputs(int64_t dim, int64_t more, int64_t stride) {
  // A name, from its lowest bit: the dim that all began with, a + kZero, s - 1.
  constexpr int kBaseBits = 34, kMoreBits = 16, kStrideBits = 10;
  static_assert(int64_t{1} << (kBaseBits + kMoreBits + kStrideBits) ==
                kMostNamedDims);
  constexpr int64_t kZero = int64_t{1} << (kMoreBits - 1);
  constexpr int64_t kBases = int64_t{1} << kBaseBits;
  if (!IsNamed(dim)) return kUnknownDim;
  const int64_t name = dim - NamedDim(0);
  int64_t a = 0, s = 1;
  if (name >= kBases) {
    a = (name >> kBaseBits) % (2 * kZero) - kZero;
    s = (name >> (kBaseBits + kMoreBits)) + 1;
  }
  if (more <= -kZero || more >= kZero || stride > int64_t{1} << kStrideBits) {
    return kUnknownDim;
  }
  a += more * s;
  s *= stride;
  if (a <= -kZero || a >= kZero || s > int64_t{1} << kStrideBits) {
    return kUnknownDim;
  }
  const int64_t base = name % kBases;
  if (a == 0 && s == 1) return NamedDim(base);
  return NamedDim(base + ((a + kZero) << kBaseBits) +
                  ((s - 1) << (kBaseBits + kMoreBits)));
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_OPEN_OUTPUTS_H_
