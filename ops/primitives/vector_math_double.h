// Elementary functions of double, as vector_math.h has them of float: without
// branches, table look-ups or calls, so that loops over them vectorize. NaN
// stays NaN; infinities, zeros with their sign and subnormal numbers are right.
// The error bounds given with each function are of machines with Fma, as
// python/tests/accuracy_test.py finds them too; without it they are up to half
// an ULP wider (vector_math_double_test.cc). Polynomials are own
// near-minimax fits (interpolation at Chebyshev nodes, 60 digits), coefficients
// rounded to double.
//
// Trigonometric functions are in vector_trigonometry_double.h.
#ifndef PROA_OPS_PRIMITIVES_VECTOR_MATH_DOUBLE_H_
#define PROA_OPS_PRIMITIVES_VECTOR_MATH_DOUBLE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops::vmath {

inline constexpr double kInfDouble = std::numeric_limits<double>::infinity();
inline constexpr double kNanDouble = std::numeric_limits<double>::quiet_NaN();

PROA_HD uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }
PROA_HD double FromBits(uint64_t b) { return std::bit_cast<double>(b); }
PROA_HD double Abs(double x) {
  return FromBits(Bits(x) & ~(uint64_t{1} << 63));
}
PROA_HD double CopySign(double magnitude, double sign) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return FromBits((Bits(magnitude) & ~kSign) | (Bits(sign) & kSign));
}

// Does the machine multiply and add with one rounding?
#if defined(__FMA__) || defined(__CUDA_ARCH__) || defined(__aarch64__)
inline constexpr bool kHasFma = true;
#else
inline constexpr bool kHasFma = false;
#endif

// a b + c, rounded once where the machine does that.
PROA_HD double MultiplyAdd(double a, double b, double c) {
  if constexpr (kHasFma) return __builtin_fma(a, b, c);
  return a * b + c;
}

// a b - product, where product is a b rounded: what rounding took away.
PROA_HD double ProductError(double a, double b, double product) {
  if constexpr (kHasFma) return __builtin_fma(a, b, -product);
  // In halves, whose products are exact.
  constexpr uint64_t kUpper = ~((uint64_t{1} << 27) - 1);
  const double a1 = FromBits(Bits(a) & kUpper), a2 = a - a1;
  const double b1 = FromBits(Bits(b) & kUpper), b2 = b - b1;
  return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
}
// x + y - sum, where sum is x + y rounded.
PROA_HD double SumError(double x, double y, double sum) {
  const double second = sum - x;
  return (x - (sum - second)) + (y - second);
}

// c0 + c1 x + c2 x^2 + ...
PROA_HD double Horner(double, double c) { return c; }
template <class... C>
PROA_HD double Horner(double x, double c0, C... more) {
  return MultiplyAdd(x, Horner(x, more...), c0);
}

// Exponentials ----------------------------------------------------------------

inline constexpr double kRoundMagic = 0x1.8p52;  // a sum with it is an integer
// Of ln 2; products of the first one with integers below 2^21 are exact.
inline constexpr double kLn2HighDouble = 0x1.62e42feep-1;
inline constexpr double kLn2Double = 0x1.62e42fefa39efp-1;
inline constexpr double kLn2LowDouble = 0x1.a39ef35793c76p-33;

// n and r of x = n ln 2 + r with |r| <= ln 2 / 2: `high` is exact, `low` what
// is to be subtracted from it.
struct ReducedExp {
  double shifted;  // kRoundMagic + n
  double high, low, r;
};
PROA_HD ReducedExp ReduceExp(double x) {
  const double shifted = MultiplyAdd(x, 0x1.71547652b82fep0, kRoundMagic);
  const double k = shifted - kRoundMagic;
  const double high = MultiplyAdd(k, -kLn2HighDouble, x);
  const double low = k * kLn2LowDouble;
  return {shifted, high, low, high - low};
}

// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2; pairs of terms side by side.
PROA_HD double ExpTail(double r) {
  const double s = r * r, f = s * s;
  const double a = MultiplyAdd(r, 0x1.5555555555557p-3, 0.5);
  const double b = MultiplyAdd(r, 0x1.11111111100dcp-7, 0x1.5555555555556p-5);
  const double c = MultiplyAdd(r, 0x1.a01a01abe7fe1p-13, 0x1.6c16c16c162d4p-10);
  const double d = MultiplyAdd(r, 0x1.71de0231960ebp-19, 0x1.a01a01a6d889cp-16);
  const double e = MultiplyAdd(r, 0x1.af4de97ca4194p-26, 0x1.27e4db646b17ep-22);
  const double g = MultiplyAdd(s, 0x1.1f730349868cep-29, e);
  const double high = MultiplyAdd(s, g, d), low = MultiplyAdd(s, b, a);
  return MultiplyAdd(f, MultiplyAdd(s, high, c), low);
}

// e^x. At most 1 ULP. `kInner`, here and below: with the same bits as else, but
// only for arguments in the range that is given below it (pieces.h).
template <bool kInner = false>
PROA_HD double Exp(double x) {
  double t = x;
  if constexpr (!kInner) {
    // Beyond these it is infinite or 0; NaN becomes one of them for now.
    t = x < 710.0 ? x : 710.0;
    t = t > -746.0 ? t : -746.0;
  }
  const auto [shifted, high, low, r] = ReduceExp(t);
  const double y = 1.0 + (high + MultiplyAdd(r * r, ExpTail(r), -low));
  if constexpr (kInner) return FromBits(Bits(y) + (Bits(shifted) << 52));
  // 2^n in two steps, since 2^1024 is none of double, and the latter rounds
  // where the result is subnormal.
  const uint64_t n = Bits(shifted) - Bits(kRoundMagic) + 2048;
  const uint64_t half = n >> 1;
  const double z =
      y * FromBits((half - 1) << 52) * FromBits((n - half - 1) << 52);
  return x != x ? x : z;
}
// |x| < 708: the results are normal numbers.
struct InnerExpDouble {
  static constexpr uint64_t kEnd = std::bit_cast<uint64_t>(708.0);
  PROA_HD static uint64_t Number(double x) {
    return Bits(x) & ~(uint64_t{1} << 63);
  }
};

// e^x - 1. At most 1 ULP. kInner: -40 <= x <= 709.
template <bool kInner = false>
PROA_HD double Expm1(double x) {
  double t = x;
  if constexpr (!kInner) {
    t = x < 710.0 ? x : 710.0;
    t = t > -40.0 ? t : -40.0;
  }
  const auto [shifted, high, low, r] = ReduceExp(t);
  const double lost = (high - r) - low;
  const double tail =
      MultiplyAdd(r * r, ExpTail(r), MultiplyAdd(r, lost, lost));
  // At half scale, so that 2^1024 does not overflow early: h = 2^n / 2. The
  // result is twice the sum of h - 1/2, h r and h tail. Of the first sum, and
  // of that of the first two, what rounding takes away comes back.
  const double h = FromBits((Bits(shifted) - Bits(kRoundMagic) + 1022) << 52);
  const double one = h - 0.5;
  const double from_one = h > 0.5 ? (h - one) - 0.5 : h - (one + 0.5);
  const double scaled = h * r;
  const double sum = one + scaled;
  const double from_sum = (one - sum) + scaled;
  const double y = 2.0 * (sum + (MultiplyAdd(h, tail, from_sum) + from_one));
  // Near 0 the argument itself, with its sign and all digits; NaN.
  return Abs(x) >= 0x1p-54 ? y : x;
}

// Logarithms ------------------------------------------------------------------

// log(1 + f) - f for sqrt(1/2) <= 1 + f <= sqrt(2), by a series of
// s = f / (2 + f), which log(1 + f) is twice an odd function of:
// f - f^2 / 2 + s (f^2 / 2 + R(s^2)).
struct Log1pParts {
  double half_square;  // f^2 / 2
  double rest;         // s (f^2 / 2 + R)
};
PROA_HD Log1pParts Log1pTail(double f) {
  const double s = f / (2.0 + f), z = s * s, w = z * z;
  const double even = Horner(w, 0x1.5555555555555p-1, 0x1.2492492476c87p-2,
                             0x1.745cf901605f7p-3, 0x1.0fbe83c2cbcf3p-3);
  const double odd = Horner(w, 0x1.9999999999a38p-2, 0x1.c71c720160b47p-3,
                            0x1.3b1c360763b8ap-3, 0x1.0c04595972ab8p-3);
  const double half_square = 0.5 * f * f;
  const double series = z * MultiplyAdd(z, odd, even);
  return {half_square, s * (half_square + series)};
}

// x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); x positive and finite, and
// normal if `kInner`.
template <bool kInner = false>
PROA_HD double SplitLog(double x, double* e) {
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
  constexpr uint64_t kOne = 0x3ff0000000000000;
  const bool tiny = !kInner && x < 0x1p-1022;
  x *= tiny ? 0x1p54 : 1.0;
  const uint64_t b = Bits(x) - kRootHalf + kOne;
  // Conversions of 64-bit integers are not for every instruction set: this one
  // puts them behind the point of 2^52.
  const double bias = tiny ? 0x1p52 + (1023 + 54) : 0x1p52 + 1023;
  *e = FromBits((b >> 52) | 0x4330000000000000) - bias;
  return FromBits((b & 0x000fffffffffffff) + kRootHalf) - 1.0;
}

// What log is where the formula does not hold: zero, negative, infinite, NaN.
template <bool kInner = false>
PROA_HD double LogSpecial(double x, double y) {
  if constexpr (kInner) return y;
  y = x == kInfDouble ? x : y;
  y = x == 0.0 ? -kInfDouble : y;
  return x >= 0.0 ? y : kNanDouble;
}

// Positive normal numbers.
struct InnerLogDouble {
  static constexpr uint64_t kLeast = std::bit_cast<uint64_t>(0x1p-1022);
  static constexpr uint64_t kEnd = 0x7ff0000000000000 - kLeast;
  PROA_HD static uint64_t Number(double x) { return Bits(x) - kLeast; }
};

// log(x). At most 1 ULP.
template <bool kInner = false>
PROA_HD double Log(double x) {
  double e;
  const double f = SplitLog<kInner>(x, &e);
  const auto [half_square, rest] = Log1pTail(f);
  const double low = MultiplyAdd(e, kLn2LowDouble, rest);
  const double y = MultiplyAdd(e, kLn2HighDouble, f - (half_square - low));
  return LogSpecial<kInner>(x, y);
}

// log(x) = e ln 2 + high + low, of high the upper half of the digits alone, so
// that its product with a constant of as many is exact.
template <bool kInner>
PROA_HD double LogInHalves(double x, double* e, double* low) {
  const double f = SplitLog<kInner>(x, e);
  const auto [half_square, rest] = Log1pTail(f);
  const double high = FromBits(Bits(f - half_square) & 0xffffffff00000000);
  *low = ((f - high) - half_square) + rest;
  return high;
}

// log(x) to base 2 and 10. At most 1 ULP.
template <bool kInner = false>
PROA_HD double Log2(double x) {
  double e, low;
  const double high = LogInHalves<kInner>(x, &e, &low);
  const double first = high * 0x1.71547652p0;
  const double sum = e + first;
  const double second =
      MultiplyAdd(low + high, 0x1.705fc2eefa2p-33, low * 0x1.71547652p0);
  return LogSpecial<kInner>(x, sum + (second + ((e - sum) + first)));
}
template <bool kInner = false>
PROA_HD double Log10(double x) {
  double e, low;
  const double high = LogInHalves<kInner>(x, &e, &low);
  const double power = e * 0x1.34413509f6p-2;
  const double first = high * 0x1.bcb7b152p-2;
  const double sum = power + first;
  const double second = MultiplyAdd(
      e, 0x1.9fef311f12b36p-42,
      MultiplyAdd(low + high, 0x1.b9438ca9aadd5p-36, low * 0x1.bcb7b152p-2));
  return LogSpecial<kInner>(x, sum + (second + ((power - sum) + first)));
}

// log(1 + x). At most 1 ULP.
PROA_HD double Log1p(double x) {
  // Near 0 the argument is the f of the formula; elsewhere 1 + x is rounded,
  // and what was lost comes back as a first-order term.
  const bool near = x > -0.29 && x < 0.41;
  const double u = 1.0 + x;
  const double lost = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
  double e;
  const double split = SplitLog(u, &e);
  const double f = near ? x : split;
  e = near ? 0.0 : e;
  const double slope = near || x > 0x1p54 ? 0.0 : lost / u;
  const auto [half_square, rest] = Log1pTail(f);
  const double low = MultiplyAdd(e, kLn2LowDouble, rest + slope);
  const double y = MultiplyAdd(e, kLn2HighDouble, f - (half_square - low));
  return x == 0.0 ? x : LogSpecial(u, y);
}

// log(x / (1 - x)). At most 3 ULP.
PROA_HD double Logit(double x) {
  const double rest = 1.0 - x;
  // Around 1/2 the quotient is nearly 1: what it is off has all digits.
  const bool middle = Abs(x - 0.5) < 0.085;
  const double q = (middle ? x + x - 1.0 : x) / rest;
  double e;
  const double split = SplitLog(q, &e);
  const double f = middle ? q : split;
  e = middle ? 0.0 : e;
  // What the rounding of `rest` lost, times the slope 1 / rest; in the middle
  // it makes no difference.
  const double lost = middle ? 0.0 : ((1.0 - rest) - x) * (q + 1.0);
  const auto [half_square, tail] = Log1pTail(f);
  const double low = MultiplyAdd(e, kLn2LowDouble, tail - lost);
  const double y = MultiplyAdd(e, kLn2HighDouble, f - (half_square - low));
  return middle ? y : LogSpecial(q, y);
}

// log(1 + e^-|x|). At most 2 ULP.
PROA_HD double Log1pExpOfMinusAbs(double x) {
  const double t = Exp(-Abs(x));
  // 1 + t is 1 + f, or 2 (1 + f); f of the latter is exact.
  const bool near = t < 0.41;
  const double f = near ? t : 0.5 * (t - 1.0);
  const auto [half_square, rest] = Log1pTail(f);
  const double low = (near ? 0.0 : kLn2LowDouble) + rest;
  return (near ? 0.0 : kLn2HighDouble) + (f - (half_square - low));
}

// Hyperbolic ------------------------------------------------------------------

// tanh(x). At most 2 ULP.
PROA_HD double Tanh(double x) {
  const double a = Abs(x);
  // (tanh(x) - x) / x^3, of x^2.
  const double s = a * a, w = s * s;
  const double even = Horner(w, -0x1.5555555555553p-2, -0x1.ba1ba1b92a1ffp-5,
                             -0x1.226e291f6bd9fp-7, -0x1.7d80237f01d40p-10,
                             -0x1.e3f7f3a7dd53dp-13, -0x1.214c6669d5aacp-16);
  const double odd = Horner(w, 0x1.11111111107aap-3, 0x1.664f4836f1aeep-6,
                            0x1.d6d17f5af6289p-9, 0x1.33fc620468678p-11,
                            0x1.4ddab0f178eb6p-14);
  const double small = MultiplyAdd(a * s, MultiplyAdd(s, odd, even), a);
  // Beyond 19.1 it rounds to 1.
  const double b = a < 20.0 ? a : 20.0;
  const double large = 1.0 - 2.0 / (Exp<true>(b + b) + 1.0);
  return x != x ? x : CopySign(a < 0.625 ? small : large, x);
}

// sinh(x), cosh(x). At most 2 ULP.
PROA_HD double Sinh(double x) {
  const double a = Abs(x);
  // (sinh(x) - x) / x^3, of x^2.
  const double s = a * a, w = s * s;
  const double even = Horner(w, 0x1.5555555555555p-3, 0x1.a01a01a01ee7ap-13,
                             0x1.ae6460fbb232dp-26, 0x1.b412579180c3cp-41);
  const double odd = Horner(w, 0x1.11111111110fdp-7, 0x1.71de3a4e14331p-19,
                            0x1.611cb2cbad2e9p-33);
  const double small = MultiplyAdd(a * s, MultiplyAdd(s, odd, even), a);
  // e^a overflows before sinh does.
  const bool huge = a > 709.0;
  const double e = Exp(huge ? 0.5 * a : a);
  const double large = huge ? 0.5 * e * e : 0.5 * e - 0.5 / e;
  return x != x ? x : CopySign(a < 1.0 ? small : large, x);
}
PROA_HD double Cosh(double x) {
  const double a = Abs(x);
  const bool large = a > 709.0;
  const double e = Exp(large ? 0.5 * a : a);
  return large ? 0.5 * e * e : 0.5 * e + 0.5 / e;
}

// At most 2 ULP each.
PROA_HD double Asinh(double x) {
  const double a = Abs(x);
  const bool large = a > 0x1p28;  // where the square root is a
  const double b = large ? 1.0 : a;
  const double square = b * b;
  const double near = b + square / (1.0 + std::sqrt(square + 1.0));
  const double y = Log1p(large ? a - 1.0 : near) + (large ? kLn2Double : 0.0);
  return x != x ? x : CopySign(y, x);
}
PROA_HD double Acosh(double x) {
  const bool large = x > 0x1p28;
  const double t = (large ? 2.0 : x) - 1.0;
  const double near = t + std::sqrt(MultiplyAdd(t, t, t + t));
  const double y = Log1p(large ? x - 1.0 : near) + (large ? kLn2Double : 0.0);
  return x < 1.0 ? kNanDouble : y;
}
PROA_HD double Atanh(double x) {
  const double a = Abs(x);
  const double y = 0.5 * Log1p(2.0 * a / (1.0 - a));
  const double z = a == 0.0 ? x : CopySign(y, x);
  return a <= 1.0 ? z : kNanDouble;
}

// Error function --------------------------------------------------------------

// erf(x). At most 1 ULP.
PROA_HD double Erf(double x) {
  const double a = Abs(x);
  // erf(x) / x - 1, of x^2 - 3/4.
  const double u = MultiplyAdd(a, a, -0.75), w = u * u;
  const double even =
      Horner(w, -0x1.9a0bafec7a26ep-4, 0x1.12198a34afc87p-4,
             0x1.7530755dfef28p-9, 0x1.09046f502d8b7p-14, 0x1.c4f4972dd91ffp-21,
             0x1.00fb9f147d246p-27, 0x1.a270f2b9b1aabp-35);
  const double odd = Horner(w, -0x1.f4eac5302d05cp-3, -0x1.efd13dd1a9e61p-7,
                            -0x1.dd9dff98af7c9p-12, -0x1.03381d61350cap-17,
                            -0x1.656418c283a29p-24, -0x1.5385ccb3f5656p-31,
                            -0x1.ccfdf19b3b345p-39);
  const double small = MultiplyAdd(a, MultiplyAdd(u, odd, even), a);
  // 1 - e^(-x^2) p; from 6 on it rounds to 1. The rest is smooth in
  // (x - 3) / (x + 3).
  const double up_to = a < 6.0 ? a : 6.0, b = up_to > 1.2 ? up_to : 1.2;
  const double t = (b - 3.0) / (b + 3.0), t2 = t * t;
  const double p = Horner(t2, 0x1.6e9827d229d2dp-3, 0x1.f6ff2041059e2p-3,
                          0x1.258b13b0107fep-4, 0x1.17c83904f853dp-8,
                          -0x1.39085cf40b73cp-11, 0x1.0cb24eee944c0p-14,
                          -0x1.0cb11a562420cp-17, 0x1.55b10cf43b87ap-20);
  const double q = Horner(t2, -0x1.4e102b9cf8512p-2, -0x1.336ffbef08c2cp-3,
                          -0x1.8fa58eb5d9148p-6, 0x1.73101f329cb12p-11,
                          0x1.7b9f2dc8ffcc1p-15, -0x1.af0f3a1e520bbp-17,
                          0x1.0ea700a8105ecp-19);
  const double square = b * b, lost = ProductError(b, b, square);
  const double e = Exp<true>(-square) * MultiplyAdd(t, q, p);
  const double large = 1.0 - MultiplyAdd(-lost, e, e);
  return x != x ? x : CopySign(a < 1.2 ? small : large, x);
}

// Of the standard normal distribution: vector_math.h.
struct NormalTailDouble {
  double a, beyond, bell;
};

// NaN counts as any number. `bell` is at most 2 ULP off, `beyond` 8.
PROA_HD NormalTailDouble NormalTailOf(double x) {
  const double size = Abs(x);
  const double a = size < 39.0 ? size : 39.0;  // where both have become 0
  const double square = a * a, lost = ProductError(a, a, square);
  const double e = Exp(-0.5 * square);
  const double bell = MultiplyAdd(e, -0.5 * lost, e);
  // P(X > a) / bell (1 + 2 a) is smooth in (a - 4) / (a + 4).
  const double t = (a - 4.0) / (a + 4.0), t2 = t * t;
  const double p = Horner(
      t2, 0x1.b30b52fe27787p-1, -0x1.8ac5bd7636523p-4, -0x1.862fda1becae1p-4,
      -0x1.5877b9b4cac02p-7, 0x1.9d653be08681dp-10, -0x1.ac9014ce5a3f7p-13,
      0x1.08b8716ad9877p-15, -0x1.8b10086095902p-18, 0x1.416f04e1896d1p-20,
      -0x1.ef39afa1beb47p-23, 0x1.2a157db52ad54p-25, -0x1.7dbff5fea7cedp-29);
  const double q = Horner(
      t2, -0x1.78fbb7ec2d911p-6, 0x1.0800fd0f642e7p-3, 0x1.6b6ea911ce04bp-5,
      -0x1.3d35c15374cb3p-10, -0x1.2c889d9ddfe94p-13, 0x1.3daa19653938bp-15,
      -0x1.9501cc0cda18ap-18, 0x1.43e24ca9200e6p-21, 0x1.d921210f4a3ebp-25,
      -0x1.b526e77f79349p-25, 0x1.df09b7b020617p-27, -0x1.b938aba09c22cp-30);
  const double ratio = MultiplyAdd(t, q, p) / MultiplyAdd(2.0, a, 1.0);
  return {a, bell * ratio, bell};
}

}  // namespace proa::inline v0::ops::vmath

#endif  // PROA_OPS_PRIMITIVES_VECTOR_MATH_DOUBLE_H_
