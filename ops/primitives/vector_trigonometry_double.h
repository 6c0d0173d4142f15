// Sine, cosine, tangent and their inverses of double, made and measured as the
// functions of vector_math_double.h.
#ifndef PROA_OPS_PRIMITIVES_VECTOR_TRIGONOMETRY_DOUBLE_H_
#define PROA_OPS_PRIMITIVES_VECTOR_TRIGONOMETRY_DOUBLE_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math_double.h"

namespace proa::inline v0::ops::vmath {

// Arguments up to here are reduced right; larger ones need more digits of pi.
inline constexpr double kReducibleDouble = 0x1p20;

struct InnerSinDouble {
  static constexpr uint64_t kEnd =
      std::bit_cast<uint64_t>(kReducibleDouble) + 1;
  PROA_HD static uint64_t Number(double x) {
    return Bits(x) & ~(uint64_t{1} << 63);
  }
};

// An angle as a sum of two numbers: |high| <= pi / 4, low less than its last
// place.
struct ReducedAngle {
  double high, low;
  uint64_t quarters;  // the lowest bits count
};

// x = n pi / 2 + r. What rounding takes away from sums and products comes back.
PROA_HD ReducedAngle ReduceQuarter(double x) {
  const double shifted = MultiplyAdd(x, 0x1.45f306dc9c883p-1, kRoundMagic);
  const double k = shifted - kRoundMagic;
  double sum, rest;
  if constexpr (kHasFma) {
    // pi / 2 is a sum of three. Of x and k times the first the difference is a
    // multiple of 2^-53, and exact.
    const double first = MultiplyAdd(k, -0x1.921fb54442d18p0, x);
    const double product = k * -0x1.1a62633145c07p-54;
    const double low = MultiplyAdd(k, -0x1.1a62633145c07p-54, -product);
    sum = first + product;
    rest = MultiplyAdd(k, 0x1.f1976b7ed8fbcp-110, low) +
           SumError(first, product, sum);
  } else {
    // A sum of four; products of the first three, of 33 bits, are exact.
    const double first = x - k * 0x1.921fb544p0;
    const double product = k * -0x1.0b4611a6p-34;
    const double second = first + product;
    const double third = k * -0x1.3198a2ep-69;
    sum = second + third;
    rest = k * -0x1.b839a252049c1p-104 +
           (SumError(first, product, second) + SumError(second, third, sum));
  }
  const double high = sum + rest;
  return {high, (sum - high) + rest, Bits(shifted)};
}

// sin(r) - r, and cos(r) as a sum of two, with s = r^2.
PROA_HD double SinTail(ReducedAngle r, double s) {
  const double w = s * s;
  const double even = Horner(w, -0x1.5555555555555p-3, -0x1.a01a019e83816p-13,
                             -0x1.ae600aca92c64p-26);
  const double odd = Horner(w, 0x1.1111111110bb2p-7, 0x1.71de379654304p-19,
                            0x1.5e0b05bff20f2p-33);
  const double cube = r.high * s;
  return MultiplyAdd(cube, MultiplyAdd(s, odd, even),
                     r.low * MultiplyAdd(s, -0.5, 1.0));
}
PROA_HD double CosTail(ReducedAngle r, double s, double* high) {
  const double w = s * s;
  const double even = Horner(w, 0x1.5555555555555p-5, 0x1.a01a019f4e9b4p-16,
                             0x1.1eeb68cd22f56p-29);
  const double odd = Horner(w, -0x1.6c16c16c16967p-10, -0x1.27e4fa17bf139p-22,
                            -0x1.907d8f29fe831p-37);
  const double half = 0.5 * s;
  *high = 1.0 - half;
  const double lost = (1.0 - *high) - half;
  return lost + MultiplyAdd(w, MultiplyAdd(s, odd, even), -r.high * r.low);
}

// sin(r + n pi / 2).
PROA_HD double SinQuadrant(ReducedAngle r, uint64_t n) {
  const double s = r.high * r.high;
  double one;
  const double tail = CosTail(r, s, &one);
  const bool odd = (n & 1) != 0;
  const double y = (odd ? one : r.high) + (odd ? tail : SinTail(r, s));
  return FromBits(Bits(y) ^ (n & 2) << 62);
}

// For |x| <= kReducibleDouble; others, infinities and NaN are not served. At
// most 1 ULP each.
PROA_HD double Sin(double x) {
  const ReducedAngle r = ReduceQuarter(x);
  const double y = SinQuadrant(r, r.quarters);
  return x == 0.0 ? x : y;  // keeps the sign of zero
}
PROA_HD double Cos(double x) {
  const ReducedAngle r = ReduceQuarter(x);
  return SinQuadrant(r, r.quarters + 1);
}
PROA_HD double Tan(double x) {
  const ReducedAngle r = ReduceQuarter(x);
  // (tan(r) - r) / r^3, of r^2.
  const double s = r.high * r.high, w = s * s;
  const double even = Horner(w, 0x1.5555555555555p-2, 0x1.ba1ba1ba29c7ap-5,
                             0x1.226e36631fd6dp-7, 0x1.7da7fbed40d7ap-10,
                             0x1.f9e473fa69127p-13, 0x1.d2671af5bb588p-15,
                             0x1.327267b6613bcp-15, 0x1.1cb84f5fe46f1p-17);
  const double odd =
      Horner(w, 0x1.1111111111099p-3, 0x1.664f487d8071cp-6,
             0x1.d6d39431ecc12p-9, 0x1.351b6fa3068fap-11, 0x1.7966c416b24e4p-14,
             -0x1.721bab9a218a1p-17, -0x1.336aea45e6300p-16);
  const double cube = r.high * s, far = MultiplyAdd(s, odd, even);
  const double about = MultiplyAdd(cube, far, r.high);  // tan(r.high)
  // What rounding took from r^2 times the slope, which counts where r is large.
  const double slope = r.high * 0.56;
  const double low = MultiplyAdd(slope, ProductError(r.high, r.high, s),
                                 MultiplyAdd(about * about, r.low, r.low));
  const double tail = MultiplyAdd(cube, far, low);
  const double y = r.high + tail;
  // -1 / y, to which y and what its rounding lost bring the last digits.
  const double y_low = (r.high - y) + tail;
  const double q = -1.0 / y, product = q * y;
  const double left = (1.0 + product) + ProductError(q, y, product) + q * y_low;
  const double turned = MultiplyAdd(left, q, q);
  const double z = (r.quarters & 1) != 0 ? turned : y;
  return x == 0.0 ? x : z;
}

// (asin(x) - x) / x^3 as a polynomial of s = x^2, |x| <= 1/2.
PROA_HD double AsinTail(double s) {
  const double w = s * s;
  const double even =
      Horner(w, 0x1.5555555555556p-3, 0x1.6db6db6e3292ep-5,
             0x1.6e8bb1d89492bp-6, 0x1.c9cf3759fd8ffp-7, 0x1.524ea8b3aad31p-7,
             0x1.1d661531b222ep-6, 0x1.d78189767524ep-6);
  const double odd = Horner(w, 0x1.3333333332ec4p-4, 0x1.f1c71c1d4aa0dp-6,
                            0x1.1c4d343fa57f6p-6, 0x1.78246f32d075cp-7,
                            0x1.653a8f8cfd43cp-8, -0x1.e7a24f548c99fp-7);
  return MultiplyAdd(s, odd, even);
}

// |x|, or above 1/2 sqrt((1 - |x|) / 2), and what its rounding lost with
// asin of it less it: asin(|x|) is their sum, or pi / 2 less twice that.
struct HalfAsin {
  bool large;
  double b, tail;
};
PROA_HD HalfAsin HalfAsinOf(double a) {
  const bool large = a > 0.5;
  const double s = large ? 0.5 * (1.0 - a) : a * a;
  const double b = large ? std::sqrt(s) : a;
  const double square = b * b;
  const double left = (s - square) - ProductError(b, b, square);
  // The root of 0 has lost nothing. Of what others did few digits are enough.
  const float inverse = 0.5f / static_cast<float>(b + 0x1p-100);
  const double lost = large ? left * static_cast<double>(inverse) : 0.0;
  return {large, b, MultiplyAdd(b * s, AsinTail(s), lost)};
}

// asin(x), acos(x). At most 1 ULP.
PROA_HD double Asin(double x) {
  const auto [large, b, tail] = HalfAsinOf(Abs(x));
  const double up = 0x1.921fb54442d18p0 - 2.0 * b;
  const double lost = (0x1.921fb54442d18p0 - up) - 2.0 * b;
  const double far = up + (lost + (0x1.1a62633145c07p-54 - 2.0 * tail));
  return CopySign(large ? far : b + tail, x);
}
PROA_HD double Acos(double x) {
  const auto [large, b, tail] = HalfAsinOf(Abs(x));
  // pi / 2 less asin(x); of the root pi less twice its asin, or that alone.
  const double up = x < -0.5  ? 0x1.921fb54442d18p1
                    : x > 0.5 ? 0.0
                              : 0x1.921fb54442d18p0;
  const double scale = CopySign(large ? 2.0 : 1.0, large ? x : -x);
  const double part = scale * b;
  const double sum = up + part;
  const double lost = (up - sum) + part;
  // Of pi / 2 what double has no digits for is 2^-53.9 of it.
  return sum +
         MultiplyAdd(scale, tail, MultiplyAdd(up, 0x1.678afae35cdd1p-55, lost));
}

// Of atan(a) = atan(c) + atan((a - c) / (1 + a c)) the c of 0, 1/2, 1, 3/2 and
// infinity, and atan(c) in two parts. With the first that a is above of 7/16,
// 11/16, 19/16 and 39/16 the latter's argument is below 7/16.
struct AtanPartOf {
  double c, high, low;
};
PROA_HD AtanPartOf AtanPart(bool half, bool one, bool more, bool far) {
  double c = half ? 0.5 : 0.0;
  double high = half ? 0x1.dac670561bb4fp-2 : 0.0;
  double low = half ? 0x1.a2b7f222f65e2p-56 : 0.0;
  c = one ? 1.0 : c;
  high = one ? 0x1.921fb54442d18p-1 : high;
  low = one ? 0x1.1a62633145c07p-55 : low;
  c = more ? 1.5 : c;
  high = more ? 0x1.f730bd281f69bp-1 : high;
  low = more ? 0x1.007887af0cbbdp-56 : low;
  high = far ? 0x1.921fb54442d18p0 : high;
  low = far ? 0x1.1a62633145c07p-54 : low;
  return {c, high, low};
}
// atan(t) - t + low for |t| < 7/16.
PROA_HD double AtanTail(double t, double low) {
  const double s = t * t, w = s * s;
  const double even = Horner(w, -0x1.5555555555555p-2, -0x1.24924924854d3p-3,
                             -0x1.745d154c29613p-4, -0x1.110c9c528646fp-4,
                             -0x1.ab5964d962e7bp-5, -0x1.0f5fd11677ccbp-5);
  const double odd = Horner(w, 0x1.99999999998c5p-3, 0x1.c71c71bd297ddp-4,
                            0x1.3b1375c51724bp-4, 0x1.e17074088e2d1p-5,
                            0x1.70003d828e51ep-5, 0x1.e40ade8e6b30dp-7);
  return MultiplyAdd(t * s, MultiplyAdd(s, odd, even), low);
}

// atan(x). At most 1 ULP.
PROA_HD double Atan(double x) {
  const double a = Abs(x);
  const bool half = a > 0.4375, one = a > 0.6875, more = a > 1.1875,
             far = a > 2.4375;
  const auto [c, high, low] = AtanPart(half, one, more, far);
  const double up = far ? -1.0 : a - c;
  const double down = far ? a : MultiplyAdd(a, c, 1.0);
  const double t = up / down;
  return x != x ? x : CopySign(high + (t + AtanTail(t, low)), x);
}

// The angle of the point (x, y), in all four quadrants, also of zeros with
// signs and of infinities. At most 1.5 ULP.
PROA_HD double Atan2(double y, double x) {
  const double p = Abs(y), q = Abs(x), largest = p > q ? p : q;
  // So that neither sums below overflow nor products lose digits.
  const double scale = largest > 0x1p1000   ? 0x1p-100
                       : largest < 0x1p-900 ? 0x1p100
                                            : 1.0;
  // Of two infinities the angle is pi / 4, of two zeros 0, as it is of a
  // number and an infinity.
  const bool equal = p == q, level = q == kInfDouble;
  const double same = largest == 0.0 ? 0.0 : 1.0;
  const double a = equal ? same : level ? 0.0 : p * scale;
  const double b = equal || level ? 1.0 : q * scale;
  // As Atan of a / b.
  const bool half = a > 0.4375 * b, one = a > 0.6875 * b, more = a > 1.1875 * b,
             far = a > 2.4375 * b;
  const auto [c, high, low] = AtanPart(half, one, more, far);
  const double up = far ? -b : MultiplyAdd(-c, b, a);
  const double down = far ? a : MultiplyAdd(a, c, b);
  const double t = up / down;
  const double rest = t + AtanTail(t, low);
  // pi less that.
  const double left = 0x1.921fb54442d18p1 - high;
  const double lost = (0x1.921fb54442d18p1 - left) - high;
  const double far_side = left - (rest - (lost + 0x1.1a62633145c07p-53));
  const double angle = (Bits(x) >> 63) != 0 ? far_side : high + rest;
  return x != x || y != y ? kNanDouble : CopySign(angle, y);
}

}  // namespace proa::inline v0::ops::vmath

#endif  // PROA_OPS_PRIMITIVES_VECTOR_TRIGONOMETRY_DOUBLE_H_
