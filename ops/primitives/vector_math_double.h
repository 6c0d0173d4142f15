// Elementary functions of double, as vector_math.h has them of float: without
// branches, table look-ups or calls, so that loops over them vectorize. NaN
// stays NaN, infinities and subnormal results are right. Error bounds are
// measured by vector_math_double_test.cc.
#ifndef PROA_OPS_PRIMITIVES_VECTOR_MATH_DOUBLE_H_
#define PROA_OPS_PRIMITIVES_VECTOR_MATH_DOUBLE_H_

#include <bit>
#include <cstdint>

#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops::vmath {

// a b + c, rounded once where the machine does that.
PROA_HD double MultiplyAdd(double a, double b, double c) {
#if defined(__FMA__) || defined(__CUDA_ARCH__) || defined(__aarch64__)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// e^x. At most 1 ULP.
PROA_HD double Exp(double x) {
  constexpr double kMagic = 0x1.8p52;  // a sum with it is an integer
  // Of ln 2; products of the first one are exact.
  constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33;
  // Beyond these it is infinite or 0; NaN becomes one of them for now.
  double t = x < 710.0 ? x : 710.0;
  t = t > -746.0 ? t : -746.0;
  // x = n ln 2 + r with |r| <= ln 2 / 2.
  const double shifted = MultiplyAdd(t, 0x1.71547652b82fep0, kMagic);
  const double k = shifted - kMagic;
  const double r = MultiplyAdd(k, -kLow, MultiplyAdd(k, -kHigh, t));
  // (e^r - 1 - r) / r^2 by its series, terms side by side.
  const double s = r * r, f = s * s;
  const double a = MultiplyAdd(r, 1.0 / 6, 1.0 / 2);
  const double b = MultiplyAdd(r, 1.0 / 120, 1.0 / 24);
  const double c = MultiplyAdd(r, 1.0 / 5040, 1.0 / 720);
  const double d = MultiplyAdd(r, 1.0 / 362880, 1.0 / 40320);
  const double e = MultiplyAdd(r, 1.0 / 39916800, 1.0 / 3628800);
  const double g = MultiplyAdd(r, 1.0 / 6227020800, 1.0 / 479001600);
  const double low = MultiplyAdd(s, b, a), middle = MultiplyAdd(s, d, c);
  const double high = MultiplyAdd(s, g, e);
  const double tail = MultiplyAdd(f, MultiplyAdd(f, high, middle), low);
  const double y = 1.0 + MultiplyAdd(s, tail, r);
  // 2^n in two steps, since 2^1024 is none of double, and the latter rounds
  // where the result is subnormal.
  const uint64_t n =
      std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(kMagic) + 2048;
  const uint64_t half = n >> 1;
  const double z = y * std::bit_cast<double>((half - 1) << 52) *
                   std::bit_cast<double>((n - half - 1) << 52);
  return x != x ? x : z;
}

}  // namespace proa::inline v0::ops::vmath

#endif  // PROA_OPS_PRIMITIVES_VECTOR_MATH_DOUBLE_H_
