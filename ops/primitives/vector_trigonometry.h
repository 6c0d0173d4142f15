// Sine, cosine, tangent and their inverses of float, made and measured as the
// functions of vector_math.h.
#ifndef PROA_OPS_PRIMITIVES_VECTOR_TRIGONOMETRY_H_
#define PROA_OPS_PRIMITIVES_VECTOR_TRIGONOMETRY_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"

namespace proa::inline v0::ops::vmath {

// Arguments up to here are reduced right; larger ones need more digits of pi.
inline constexpr float kReducible = 0x1p20f;

struct InnerSin {
  static constexpr uint32_t kEnd = std::bit_cast<uint32_t>(kReducible) + 1;
  PROA_HD static uint32_t Number(float x) { return Bits(x) & 0x7fffffffu; }
};

// x = n pi / 2 + r, |r| <= pi / 4; of n the lowest bits alone.
PROA_HD float ReduceQuarter(float x, uint32_t* n) {
  constexpr float kMagic = 0x1.8p23f;  // see RoundSmall
  const float shifted = Fma(x, 0x1.45f306p-1f, kMagic);
  *n = Bits(shifted);
  const float k = shifted - kMagic;
  // pi / 2 is a sum of three. Of x and k times the first the difference is
  // exact; of the second product, and of the sum with it, what rounding takes
  // away comes back.
  const float first = Fma(k, -0x1.921fb6p0f, x);
  const float product = k * 0x1.777a5cp-25f;
  const float rest = Fma(k, 0x1.777a5cp-25f, -product);
  const float second = first + product;
  const float lost = (first - second) + product;
  return second + (lost + Fma(k, 0x1.ee59dap-50f, rest));
}
// For |r| <= pi / 4.
PROA_HD float SinNear(float r) {
  const float s = r * r;
  float p = 0x1.6ccf7ap-19f;
  p = Fma(p, s, -0x1.a00f74p-13f);
  p = Fma(p, s, 0x1.111108p-7f);
  p = Fma(p, s, -0x1.555556p-3f);
  return Fma(r * s, p, r);
}
PROA_HD float CosNear(float r) {
  const float s = r * r;
  float p = 0x1.99e864p-16f;
  p = Fma(p, s, -0x1.6c0c28p-10f);
  p = Fma(p, s, 0x1.55554ap-5f);
  return Fma(s * s, p, Fma(s, -0.5f, 1.0f));
}
// sin(r + n pi / 2).
PROA_HD float SinQuadrant(float r, uint32_t n) {
  const float y = (n & 1) != 0 ? CosNear(r) : SinNear(r);
  return FromBits(Bits(y) ^ (n & 2) << 30);
}

// For |x| <= kReducible; others, infinities and NaN are not served. At most 1.6
// ULP.
PROA_HD float Sin(float x) {
  uint32_t n;
  const float r = ReduceQuarter(x, &n);
  return x == 0.0f ? x : SinQuadrant(r, n);  // of -0, -0
}
PROA_HD float Cos(float x) {
  uint32_t n;
  const float r = ReduceQuarter(x, &n);
  return SinQuadrant(r, n + 1);
}
// At most 3.5 ULP.
PROA_HD float Tan(float x) {
  uint32_t n;
  const float r = ReduceQuarter(x, &n);
  const float s = SinNear(r), c = CosNear(r);
  const bool odd = (n & 1) != 0;
  return x == 0.0f ? x : (odd ? -c : s) / (odd ? s : c);
}

// (asin(x) - x) / x^3 as a polynomial of s = x^2, |x| <= 1/2.
PROA_HD float AsinTail(float s) {
  float p = 0x1.599fbcp-5f;
  p = Fma(p, s, 0x1.8bf1d8p-6f);
  p = Fma(p, s, 0x1.748344p-5f);
  p = Fma(p, s, 0x1.3301b6p-4f);
  return Fma(p, s, 0x1.5555cap-3f);
}
// asin(x), acos(x). At most 2.5 ULP.
PROA_HD float Asin(float x) {
  const float a = Abs(x);
  const bool large = a > 0.5f;
  // Near 1: asin(a) = pi / 2 - 2 asin(sqrt((1 - a) / 2)).
  const float s = large ? 0.5f * (1.0f - a) : a * a;
  const float b = large ? std::sqrt(s) : a;
  const float y = Fma(b * s, AsinTail(s), b);
  const float z = large ? 0x1.921fb6p0f - (2.0f * y + 0x1.777a5cp-25f) : y;
  return CopySign(z, x);
}
PROA_HD float Acos(float x) {
  const float a = Abs(x);
  const bool large = a > 0.5f;
  const float s = large ? 0.5f * (1.0f - a) : x * x;
  const float b = large ? std::sqrt(s) : x;
  const float y = Fma(b * s, AsinTail(s), b);
  const float near_one =
      x < 0.0f ? 0x1.921fb6p1f - (2.0f * y + 0x1.777a5cp-24f) : 2.0f * y;
  return large ? near_one : 0x1.921fb6p0f - (y + 0x1.777a5cp-25f);
}

// atan(x). At most 2.5 ULP.
PROA_HD float Atan(float x) {
  const float a = Abs(x);
  // tan(3 pi / 8) and tan(pi / 8): the argument comes below the latter.
  const bool far = a > 0x1.3504f4p1f, middle = a > 0x1.a8279ap-2f;
  const float above = far ? -1.0f : a - 1.0f;
  const float below = far ? a : a + 1.0f;
  const float t = middle ? above / below : a;
  const float s = t * t;
  float p = -0x1.f19358p-5f;
  p = Fma(p, s, 0x1.b1db32p-4f);
  p = Fma(p, s, -0x1.23b40cp-3f);
  p = Fma(p, s, 0x1.999188p-3f);
  p = Fma(p, s, -0x1.55554ap-2f);
  const float y = Fma(t * s, p, t);
  const float half = 0x1.921fb6p0f + (y - 0x1.777a5cp-25f);
  const float quarter = 0x1.921fb6p-1f + (y - 0x1.777a5cp-26f);
  const float z = far ? half : middle ? quarter : y;
  return x != x ? x : CopySign(z, x);
}

// The angle of the point (x, y), in all four quadrants, also of zeros with
// signs and of infinities. At most 2.5 ULP.
PROA_HD float Atan2(float y, float x) {
  const float a = Abs(y), b = Abs(x);
  const bool steep = a > b;
  const float low = steep ? b : a, high = steep ? a : b;
  // Of two infinities the angle is pi / 4, of two zeros 0.
  const float ratio = low == high ? 1.0f : low / high;
  const float t = high == 0.0f ? 0.0f : ratio;
  const float s = t * t, w = s * s;
  const float p = Fma(0x1.9978f4p-3f, s, -0x1.5554dcp-2f);
  const float q = Fma(0x1.b4e10cp-4f, s, -0x1.230ad8p-3f);
  const float u = Fma(0x1.61fd38p-5f, s, -0x1.355672p-4f);
  const float v = Fma(0x1.7ed09ep-9f, s, -0x1.0c2b4cp-6f);
  const float angle = Fma(t * s, Fma(w, Fma(w, Fma(w, v, u), q), p), t);
  const float up = 0x1.921fb6p0f - (angle + 0x1.777a5cp-25f);
  const float first = steep ? up : angle;  // of (b, a)
  const float left = 0x1.921fb6p1f - (first + 0x1.777a5cp-24f);
  const float z = (Bits(x) >> 31) != 0 ? left : first;
  return x != x || y != y ? kNan : CopySign(z, y);
}

}  // namespace proa::inline v0::ops::vmath

#endif  // PROA_OPS_PRIMITIVES_VECTOR_TRIGONOMETRY_H_
