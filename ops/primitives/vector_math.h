// Elementary functions of float without branches, table look-ups or calls, so
// that loops over them vectorize on every instruction set (and give the same
// bits on each that has Fma). Those of double: vector_math_double.h.
//
// They are right for every argument: NaN stays NaN, infinities, zeros with
// their sign, subnormal arguments and results. The error bounds given with each
// function are measured over all floats by vector_math_test.cc, in units in the
// last place (ULP) against double arithmetic. Polynomials are own near-minimax
// fits (Lawson's algorithm at Chebyshev nodes, 40 digits), coefficients rounded
// to float.
//
// Trigonometric functions are in vector_trigonometry.h.
//
// They rely on IEEE arithmetic and rounding to nearest: never compile with
// -ffast-math.
#ifndef PROA_OPS_PRIMITIVES_VECTOR_MATH_H_
#define PROA_OPS_PRIMITIVES_VECTOR_MATH_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops::vmath {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kLn2 = 0x1.62e43p-1f;    // off by 2^-29
inline constexpr float kLn2High = 0x1.62ep-1f;  // few bits: products are exact
inline constexpr float kLn2Low = 0x1.0bfbe8p-15f;

PROA_HD uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }
PROA_HD float FromBits(uint32_t b) { return std::bit_cast<float>(b); }
PROA_HD float CopySign(float magnitude, float sign) {
  return FromBits((Bits(magnitude) & 0x7fffffffu) | (Bits(sign) & 0x80000000u));
}
PROA_HD float Abs(float x) { return FromBits(Bits(x) & 0x7fffffffu); }
// |x|, but `limit` at most, also for NaN. As integers it is one instruction.
PROA_HD float AbsUpTo(float x, float limit) {
  const uint32_t bits = Bits(x) & 0x7fffffffu;
  return FromBits(bits < Bits(limit) ? bits : Bits(limit));
}

// Nearest integer of |x| < 2^22, as float and as int: adding 1.5 * 2^23 leaves
// no room for a fraction.
PROA_HD float RoundSmall(float x, int32_t* n) {
  constexpr float kMagic = 0x1.8p23f;
  const float shifted = x + kMagic;
  *n = static_cast<int32_t>(Bits(shifted) - Bits(kMagic));
  return shifted - kMagic;
}

// a b + c, rounded once: one instruction of every x86 CPU since Haswell, and of
// GPUs. On others it is formed in double, where the product is exact: the same
// bits but for one result in 2^29, where the two roundings differ from one.
PROA_HD float Fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__CUDA_ARCH__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) +
                            static_cast<double>(c));
#endif
}

// 2^n for -126 <= n <= 127.
PROA_HD float PowerOfTwo(int32_t n) {
  return FromBits(static_cast<uint32_t>(n + 127) << 23);
}
// x * 2^n for |n| <= 252, rounded once even where the result is subnormal.
PROA_HD float Scale(float x, int32_t n) {
  const int32_t half = n >> 1;
  return x * PowerOfTwo(half) * PowerOfTwo(n - half);
}

// Exponentials ----------------------------------------------------------------

// x = n ln 2 + r with |r| <= ln 2 / 2; |n| < 2^11. The lowest bits of `biased`
// are n + 127, an exponent: the others leave a float when it is shifted there.
PROA_HD float ReduceExpBiased(float x, uint32_t* biased) {
  constexpr float kMagic = 0x1.8p23f + 127;  // see RoundSmall
  const float shifted = Fma(x, 0x1.715476p0f, kMagic);
  *biased = Bits(shifted);
  const float k = shifted - kMagic;
  return Fma(k, -kLn2Low, Fma(k, -kLn2High, x));
}
PROA_HD float ReduceExp(float x, int32_t* n) {
  uint32_t biased;
  const float r = ReduceExpBiased(x, &biased);
  *n = static_cast<int32_t>(biased - Bits(0x1.8p23f + 127));
  return r;
}
// 2^n for -127 <= n <= 127, where 2^-127 is 0.
PROA_HD float PowerOfBiased(uint32_t biased) { return FromBits(biased << 23); }
// (1 + e) power, rounded once.
PROA_HD float OnePlusTimes(float e, float power) {
  return Fma(power, e, power);
}
// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2. Here and below pairs of terms are
// formed side by side: what limits loops over such long formulas is how long
// each operation waits for the one before.
PROA_HD float ExpTail(float r) {
  const float s = r * r;
  const float p = Fma(0x1.123faap-7f, r, 0x1.555914p-5f);
  const float q = Fma(0x1.55548ap-3f, r, 0x1.fffffcp-2f);
  return Fma(s, Fma(s, 0x1.6a1d72p-10f, p), q);
}

// e^x. At most 1.1 ULP. `kInner`, here and below: with the same bits as else,
// but only for arguments in the range that is given below it (pieces.h).
template <bool kInner = false>
PROA_HD float Exp(float x) {
  if constexpr (kInner) {
    uint32_t biased;
    const float r = ReduceExpBiased(x, &biased);
    return OnePlusTimes(Fma(r * r, ExpTail(r), r), PowerOfBiased(biased));
  }
  // Beyond 89 it is infinite, below -104 it is 0. As integers each bound is one
  // instruction, but NaN is lost.
  const int32_t high = std::bit_cast<int32_t>(89.0f);
  const int32_t signed_bits = std::bit_cast<int32_t>(x);
  const uint32_t bounded =
      static_cast<uint32_t>(signed_bits < high ? signed_bits : high);
  const uint32_t low = Bits(-104.0f);
  const float t = FromBits(bounded < low ? bounded : low);
  int32_t n;
  const float r = ReduceExp(t, &n);
  const float y = 1.0f + Fma(r * r, ExpTail(r), r);
  // 2^n in two steps, since 2^128 is none of float, and the latter rounds where
  // the result is subnormal.
  const int32_t half = n >> 1;
  const float z = FromBits(Bits(y) + (static_cast<uint32_t>(half) << 23)) *
                  PowerOfTwo(n - half);
  return x != x ? x : z;
}
// |x| < 87: the results are normal numbers.
struct InnerExp {
  static constexpr uint32_t kEnd = std::bit_cast<uint32_t>(87.0f);
  PROA_HD static uint32_t Number(float x) { return Bits(x) & 0x7fffffffu; }
};

// e^-|x|. At most 1.1 ULP.
PROA_HD float ExpOfMinusAbs(float x) {
  x = FromBits(Bits(x) | 0x80000000u);
  uint32_t biased;
  const float r = ReduceExpBiased(x, &biased);
  // 2^n in two steps, the latter rounding where the result is subnormal.
  const float y =
      OnePlusTimes(Fma(r * r, ExpTail(r), r), PowerOfBiased(biased + 64));
  return x < -104.0f ? 0.0f : y * 0x1p-64f;
}

// e^x as a part of a sum that is 1 at least: results below 2^-126 are 0, above
// 2^126 they are of no meaning, but not NaN. At most 2.5 ULP elsewhere.
PROA_HD float ExpTerm(float x) {
  uint32_t biased;
  const float r = ReduceExpBiased(x, &biased);
  const float s = r * r;
  const float p = Fma(0x1.5557aep-3f, r, 0x1.fffdfcp-2f);
  const float q = Fma(0x1.10627ap-7f, r, 0x1.572a06p-5f);
  const float e = Fma(s, Fma(s, q, p), r);
  const float y = OnePlusTimes(e, PowerOfBiased(biased));
  const float z = x > 88.0f ? 0x1p126f : y;
  return x < -87.3f ? 0.0f : z;
}

// e^-x for 0 <= x <= kExpEnd: 0 where that is less than 2^-126, with neither
// test nor overflow. At most 1.5 ULP.
inline constexpr float kExpEnd = 0x1.601e68p+6f;  // 127 ln 2
PROA_HD float ExpDown(float x) {
  uint32_t biased;
  const float r = ReduceExpBiased(-x, &biased);
  return OnePlusTimes(Fma(r * r, ExpTail(r), r), PowerOfBiased(biased));
}

// e^x - 1. At most 2 ULP.
PROA_HD float Expm1(float x) {
  const float argument = x;
  x = x > 89.0f ? 89.0f : x;
  x = x < -18.0f ? -18.0f : x;
  uint32_t biased;
  const float r = ReduceExpBiased(x, &biased);
  const float e = Fma(r * r, ExpTail(r), r);  // e^r - 1
  // 2^n e + (2^n - 1), at half scale so that 2^128 does not overflow early.
  const float half = PowerOfBiased(biased - 1);
  const float y = Fma(half, e, half - 0.5f) * 2.0f;
  return argument == 0.0f ? argument : y;  // keeps the sign of zero
}

// Logarithms ------------------------------------------------------------------

// (log(1 + f) - f) / f^2 for sqrt(1/2) <= 1 + f <= sqrt(2).
PROA_HD float Log1pQuotient(float f) {
  float p = -0x1.38b5aap-4f;
  p = Fma(p, f, 0x1.055b90p-3f);
  p = Fma(p, f, -0x1.0d8566p-3f);
  p = Fma(p, f, 0x1.22da34p-3f);
  p = Fma(p, f, -0x1.547252p-3f);
  p = Fma(p, f, 0x1.99a00ap-3f);
  p = Fma(p, f, -0x1.000226p-2f);
  p = Fma(p, f, 0x1.555554p-2f);
  return Fma(f, p, -0.5f);
}
// log(1 + f), and log(1 + f) - f.
PROA_HD float Log1pNear(float f) { return Fma(f * f, Log1pQuotient(f), f); }
PROA_HD float Log1pTail(float f) { return f * f * Log1pQuotient(f); }

// x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); x positive and finite, and
// normal if `kInner`. `e` is counted in steps of 2^23, which saves a shift:
// what it is multiplied by is 2^-23 (kLogStep) of what it would be.
inline constexpr float kLogStep = 0x1p-23f;
inline constexpr float kLn2OfStep = kLn2 * kLogStep;
template <bool kInner = false>
PROA_HD float SplitLog(float x, float* e) {
  const bool tiny = !kInner && x < 0x1p-126f;
  // Moves the border of the exponents to sqrt(1/2), and numbers that are
  // subnormal among the others.
  const uint32_t border = tiny ? 0x3f3504f3u + (23u << 23) : 0x3f3504f3u;
  x *= tiny ? 0x1p23f : 1.0f;
  const uint32_t b = Bits(x) - border;
  *e = static_cast<float>(static_cast<int32_t>(b & 0xff800000u));
  return FromBits((b & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}

// What log is where the formula does not hold: zero, negative, infinite, NaN.
template <bool kInner = false>
PROA_HD float LogSpecial(float x, float y) {
  if constexpr (kInner) return y;
  y = x == kInf ? x : y;
  y = x == 0.0f ? -kInf : y;
  return x >= 0.0f ? y : kNan;
}

// Positive normal numbers.
struct InnerLog {
  static constexpr uint32_t kEnd = 0x7f000000u;
  PROA_HD static uint32_t Number(float x) { return Bits(x) - 0x00800000u; }
};

// log(x). At most 1 ULP.
template <bool kInner = false>
PROA_HD float Log(float x) {
  float e;
  const float f = SplitLog<kInner>(x, &e);
  return LogSpecial<kInner>(x, Fma(e, kLn2OfStep, Log1pNear(f)));
}

// log(x) to base 2 and 10. At most 2 ULP.
template <bool kInner = false>
PROA_HD float Log2(float x) {
  float e;
  const float f = SplitLog<kInner>(x, &e);
  return LogSpecial<kInner>(x, Fma(Log1pNear(f), 0x1.715476p0f, e * kLogStep));
}
template <bool kInner = false>
PROA_HD float Log10(float x) {
  float e;
  const float f = SplitLog<kInner>(x, &e);
  // log10(2) is of few bits and a rest.
  const float y = Fma(Log1pNear(f), 0x1.bcb7b2p-2f, e * 0x1.04d428p-35f);
  return LogSpecial<kInner>(x, Fma(e, 0x1.34p-25f, y));
}

// log(1 + x). At most 1.5 ULP.
PROA_HD float Log1p(float x) {
  // Near 0 the argument is the f of the formula; elsewhere 1 + x is rounded,
  // and what was lost comes back as a first-order term.
  const bool near = x > -0.29f && x < 0.41f;
  const float u = 1.0f + x;
  const float lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
  float e;
  const float split = SplitLog(u, &e);
  const float f = near ? x : split;
  e = near ? 0.0f : e;
  const float rest = near || x > 0x1p24f ? 0.0f : lost / u;
  const float y = Fma(e, kLn2OfStep, f + (Log1pTail(f) + rest));
  return x == 0.0f ? x : LogSpecial(u, y);
}

// log(1 + e^-|x|). At most 2 ULP.
PROA_HD float Log1pExpOfMinusAbs(float x) {
  const float t = ExpOfMinusAbs(x);
  // 1 + t is 1 + f, or 2 (1 + f).
  const bool near = t < 0.414f;
  const float f = near ? t : 0.5f * (t - 1.0f);
  return (near ? 0.0f : kLn2) + Log1pNear(f);
}

// log(x / (1 - x)). At most 3 ULP.
template <bool kInner = false>
PROA_HD float Logit(float x) {
  const float rest = 1.0f - x;
  // Around 1/2 the quotient is nearly 1: what it is off has all digits.
  const bool middle = Abs(x - 0.5f) < 0.085f;
  const float q = (middle ? x + x - 1.0f : x) / rest;
  float e;
  const float split = SplitLog<kInner>(q, &e);
  const float f = middle ? q : split;
  e = middle ? 0.0f : e;
  // What the rounding of `rest` lost, times the slope 1 / rest; in the middle
  // it makes no difference.
  const float lost = middle ? 0.0f : ((1.0f - rest) - x) * (q + 1.0f);
  const float y = Fma(e, kLn2OfStep, f + (Log1pTail(f) - lost));
  return middle ? y : LogSpecial<kInner>(q, y);
}
// 2^-100 <= x < 1.
struct InnerLogit {
  static constexpr uint32_t kLeast = std::bit_cast<uint32_t>(0x1p-100f);
  static constexpr uint32_t kEnd = std::bit_cast<uint32_t>(1.0f) - kLeast;
  PROA_HD static uint32_t Number(float x) { return Bits(x) - kLeast; }
};

// 1 / (1 + e^-x). At most 2.5 ULP.
PROA_HD float Sigmoid(float x) {
  // e^-|x| cannot overflow, and keeps what is left of a small result.
  const float e = ExpOfMinusAbs(x);
  return (x >= 0.0f ? 1.0f : e) / (1.0f + e);
}

// Hyperbolic ------------------------------------------------------------------

// sinh(x), cosh(x). At most 3 ULP.
PROA_HD float Sinh(float x) {
  const float a = Abs(x);
  const float e = Expm1(a);
  const float h = Exp(0.5f * a);
  // e^a overflows before sinh does.
  const float y = a > 88.0f ? 0.5f * h * h : 0.5f * (e + e / (e + 1.0f));
  return x != x ? x : CopySign(y, x);
}
PROA_HD float Cosh(float x) {
  const float a = Abs(x);
  const float e = Exp(a);
  const float h = Exp(0.5f * a);
  return a > 88.0f ? 0.5f * h * h : 0.5f * e + 0.5f / e;
}

// At most 3 ULP each.
PROA_HD float Asinh(float x) {
  const float a = Abs(x);
  const float b = a > 0x1p20f ? 1.0f : a;  // keeps the square finite
  const float near = Log1p(b + b * b / (1.0f + std::sqrt(b * b + 1.0f)));
  const float y = a > 0x1p20f ? Log(a) + 0x1.62e430p-1f : near;
  return x != x ? x : CopySign(y, x);
}
PROA_HD float Acosh(float x) {
  const float t = (x > 0x1p20f ? 2.0f : x) - 1.0f;
  const float near = Log1p(t + std::sqrt(t * (t + 2.0f)));
  const float y = x > 0x1p20f ? Log(x) + 0x1.62e430p-1f : near;
  return x < 1.0f ? kNan : y;
}
PROA_HD float Atanh(float x) {
  const float a = Abs(x);
  const float y = 0.5f * Log1p(2.0f * a / (1.0f - a));
  return a > 1.0f || x != x ? kNan : a == 0.0f ? x : CopySign(y, x);
}

// tanh(x). At most 2 ULP.
PROA_HD float Tanh(float x) {
  // (1 - e^-2a) / (1 + e^-2a); beyond 9.02 that rounds to 1.
  const float a = AbsUpTo(x, 10.0f);
  // -2a = n ln 2 + r, |r| <= ln 2 / 2. ln 2 of one float is off by 2^-29: where
  // n is large, that makes no difference any more.
  constexpr float kMagic = 0x1.8p23f + 126;  // see RoundSmall
  const float shifted = Fma(a, -0x1.715476p+1f, kMagic);
  const float r = Fma(shifted - kMagic, -0x1.62e43p-1f, -2.0f * a);
  const float half = PowerOfBiased(Bits(shifted));  // of 2^n
  const float e = Fma(r * r, ExpTail(r), r);
  const float y = Fma(-half, e, 0.5f - half) / Fma(half, e, 0.5f + half);
  return x != x ? x : CopySign(y, x);
}

// Error function
// ----------------------------------------------------------------

// erf(x). At most 1.5 ULP.
PROA_HD float Erf(float x) {
  const float a = Abs(x);
  const float s = a * a;
  float p = 0x1.574f94p-14f;
  p = Fma(p, s, -0x1.a88dccp-11f);
  p = Fma(p, s, 0x1.54966cp-8f);
  p = Fma(p, s, -0x1.b80962p-6f);
  p = Fma(p, s, 0x1.ce2dcap-4f);
  p = Fma(p, s, -0x1.812742p-2f);
  p = Fma(p, s, 0x1.06eba8p-3f);
  const float small = Fma(a, p, a);
  // 1 - e^-q(x); from 4 on it rounds to 1.
  const float b = a > 4.0f ? 4.0f : a;
  float q = 0x1.888a2ap-21f;
  q = Fma(q, b, 0x1.7e863ap-17f);
  q = Fma(q, b, -0x1.8dd05ep-12f);
  q = Fma(q, b, 0x1.05e024p-8f);
  q = Fma(q, b, -0x1.95f764p-6f);
  q = Fma(q, b, 0x1.b9ce8ap-4f);
  q = Fma(q, b, 0x1.446f06p-1f);
  q = Fma(q, b, 0x1.211f46p+0f);
  q = Fma(q, b, -0x1.3c82cap-13f);
  const float large = 1.0f - ExpDown(q);
  return CopySign(a < 0.92f ? small : large, x);
}

// Ends of distributions
// ----------------------------------------------------------------

// Of the standard normal distribution.
struct NormalTail {
  float a;       // |x|, kNormalEnd at most
  float beyond;  // P(X > |x|)
  float bell;    // e^(-x^2 / 2)
};

// Where `bell` and `beyond` have become 0.
inline constexpr float kNormalEnd = 0x1.a8997ep+3f;  // sqrt(2 kExpEnd)

// NaN counts as infinite. `bell` is at most 2.5 ULP off, and `beyond` 4.5 for
// |x| < 1, 7 elsewhere.
PROA_HD NormalTail NormalTailOf(float x) {
  const float a = AbsUpTo(x, kNormalEnd);
  // -a^2 / 2 = n ln 2 - r / 2. Of a^2 all digits count, so it is rounded only
  // with what brings it near 0.
  constexpr float kMagic = 0x1.8p23f + 127;  // see RoundSmall
  const float shifted = Fma(a * a, -0x1.715476p-1f, kMagic);
  const float n = shifted - kMagic;
  const float r = Fma(n, 2 * kLn2Low, Fma(a, a, n * (2 * kLn2High)));
  // (e^(-r / 2) - 1) / r.
  float e = Fma(r, -0x1.0fa832p-12f, 0x1.573a54p-9f);
  e = Fma(r, e, -0x1.555a6ap-6f);
  e = Fma(r, e, 0x1.fffdc6p-4f);
  e = Fma(r, e, -0x1.fffff6p-2f);
  const float power = PowerOfBiased(Bits(shifted));
  const float bell = Fma(power * r, e, power);
  // P(X > a) / bell as a quotient of polynomials without negative terms.
  float p = Fma(a, 0x1.ff5dacp-9f, 0x1.4117d2p-5f);
  p = Fma(a, p, 0x1.6e9096p-3f);
  p = Fma(a, p, 0x1.baf742p-2f);
  p = Fma(a, p, 0.5f);
  float q = Fma(a, 0x1.407214p-7f, 0x1.9276f2p-4f);
  q = Fma(a, q, 0x1.d53f92p-2f);
  q = Fma(a, q, 0x1.2f553ep0f);
  q = Fma(a, q, 0x1.a9bdcep0f);
  q = Fma(a, q, 1.0f);
  return {a, bell * p / q, bell};
}

}  // namespace proa::inline v0::ops::vmath

#endif  // PROA_OPS_PRIMITIVES_VECTOR_MATH_H_
