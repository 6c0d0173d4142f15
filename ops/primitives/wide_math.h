// Functions of double without branches, table look-ups or calls, right to about
// 1e-12: for results that are rounded to float and whose formula would lose too
// many digits in float. Loops over them vectorize, with half as many elements
// in a vector as functions of vector_math.h, which says how polynomials were
// made.
//
// Arguments are what a caller made of floats: each function says for which it
// holds. Not for results in double: <cmath> is right to the last place.
#ifndef PROA_OPS_PRIMITIVES_WIDE_MATH_H_
#define PROA_OPS_PRIMITIVES_WIDE_MATH_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"

namespace proa::inline v0::ops::vmath::wide {

PROA_HD uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }
PROA_HD double FromBits(uint64_t b) { return std::bit_cast<double>(b); }
PROA_HD double Abs(double x) {
  return FromBits(Bits(x) & ~(uint64_t{1} << 63));
}

// The nearest whole number of |x| < 2^51.
PROA_HD double Round(double x) {
  constexpr double kMagic = 0x1.8p52;
  return (x + kMagic) - kMagic;
}
// Rounded down.
PROA_HD double Floor(double x) {
  const double r = Round(x);
  return r > x ? r - 1 : r;
}

// log(x) of positive normal numbers, for x near 1 as many digits as elsewhere;
// of 0 about -709, of infinity 710.
PROA_HD double Log(double x) {
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
  constexpr uint64_t kOne = 0x3ff0000000000000;
  const uint64_t b = Bits(x) - kRootHalf + kOne;
  // x = 2^e (1 + f). Conversions of 64-bit integers are not for every
  // instruction set: this one puts them behind the point of 2^52.
  const double e = FromBits((b >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
  const double f = FromBits((b & 0x000fffffffffffff) + kRootHalf) - 1;
  const double s = f / (2 + f), z = s * s, w = z * z;
  const double p = 0x1.555555561e4adp-1 + 0x1.999996a93a818p-2 * z;
  const double q = 0x1.249411f3a16ecp-2 + 0x1.c62b132656f1cp-3 * z;
  const double tail = p + w * (q + w * 0x1.9115a13951931p-3);
  return e * 0x1.62e42fefa39efp-1 + (s + s + s * z * tail);
}

// 2^x for |x| <= 1000; NaN gives some number.
PROA_HD double Exp2(double x) {
  const double shifted = x + 0x1.8p52;
  const double r = x - (shifted - 0x1.8p52), s = r * r;
  const double p = 0x1.62e42fef8555dp-1 + 0x1.ebfbdff80ee41p-3 * r;
  const double q = 0x1.c6b08dd634239p-5 + 0x1.3b2ab736ccba6p-7 * r;
  const double t = 0x1.5d874652f8251p-10 + 0x1.43087891f7058p-13 * r;
  const double u = 0x1.00dbf16677ab3p-16 + 0x1.6406a46c0832cp-20 * r;
  const double y = 1 + r * ((p + s * q) + (s * s) * (t + s * u));
  return FromBits(Bits(y) + (Bits(shifted) << 52));
}

// sin(pi r) and cos(pi r) for |r| <= 1/2, with all digits near their zeros.
PROA_HD double SinPi(double r) {
  const double s = r * r, w = s * s;
  const double p = 0x1.921fb54442b64p1 - 0x1.4abbce6247f86p2 * s;
  const double q = 0x1.466bc66dc90ap1 - 0x1.32d2c96c5799fp-1 * s;
  const double t = 0x1.5076fe9064241p-4 - 0x1.e297ca94eab25p-8 * s;
  return r * (p + w * (q + w * (t + w * 0x1.d4ebdb20ca5d7p-12)));
}
PROA_HD double CosPi(double r) {
  const double s = r * r, w = s * s;
  const double p = 0x1.fffffffffffb3p1 - 0x1.de9e64df1bb21p1 * s;
  const double q = 0x1.472be11eb6ef4p0 - 0x1.d4fcd5929fe7cp-3 * s;
  const double t = 0x1.9f04de96bd7aap-6 - 0x1.f2b409e2775ddp-10 * s;
  return (0.5 - r) * (0.5 + r) *
         (p + w * (q + w * (t + w * 0x1.a2dec52a925eep-14)));
}

// a^b of finite numbers, a positive. At most 0.51 ULP.
PROA_HD float PowOfPositive(float a, float b) {
  double t = b * (Log(a) * 0x1.71547652b82fep0);
  t = t > 300 ? 300 : t;
  t = t < -300 ? -300 : t;
  return static_cast<float>(Exp2(t));
}

// a^b, right for every pair of floats as the C standard says. At most 0.51 ULP.
PROA_HD float Pow(float a, float b) {
  const double x = Abs(static_cast<double>(a)), power = b;
  const double log = Log(x) * 0x1.71547652b82fep0;
  const double to_zero = x == 0 ? -1e300 : log;
  double t = power * (x > 0x1p200 ? 1e300 : to_zero);
  t = t > 300 ? 300 : t;
  t = t < -300 ? -300 : t;
  // 1 to the power of infinity: 0 times infinity is NaN.
  t = x == 1 ? 0 : t;
  const float y = static_cast<float>(Exp2(t));
  // Floats from 2^24 on are even.
  const double exponent = Abs(power) > 0x1p24 ? 0 : power,
               half = 0.5 * exponent;
  const bool whole = Round(exponent) == exponent;
  const bool odd = whole & (Round(half) != half);
  const float negative = odd ? -y : y;
  const bool no_number = !whole & (x > 0) & (x < 0x1p200);
  const float below = no_number ? kNan : negative;
  float z = (vmath::Bits(a) >> 31) != 0 ? below : y;
  z = (a != a) | (b != b) ? kNan : z;
  return (b == 0) | (a == 1) ? 1.0f : z;
}

}  // namespace proa::inline v0::ops::vmath::wide

#endif  // PROA_OPS_PRIMITIVES_WIDE_MATH_H_
