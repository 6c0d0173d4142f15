// log |gamma(x)| and its first two derivatives for results in float, without
// branches, in double: gamma.h loops over them. All hold for every float but
// where said.
#ifndef PROA_OPS_SPECIAL_GAMMA_FLOAT_H_
#define PROA_OPS_SPECIAL_GAMMA_FLOAT_H_

#include <cmath>
#include <limits>

#include "ops/primitives/host_device.h"
#include "ops/primitives/wide_math.h"

namespace proa::inline v0::ops::special {

namespace wide = vmath::wide;
inline constexpr double kWideInf = std::numeric_limits<double>::infinity();
inline constexpr double kWidePi = 0x1.921fb54442d18p1;

// From here on asymptotic series hold.
inline constexpr double kSeries = 8;

// The z in [1, 2) that differs from x < kSeries by a whole number.
PROA_HD double NearOne(double x) { return x - (wide::Floor(x) - 1); }
// (x - 1) (x - 2) ... down to z.
PROA_HD double StepsToNearOne(double x) {
  const auto step = [x](double i) __attribute__((always_inline)) {
    return x - i > 1 ? x - i : 1;
  };
  return (step(1) * step(2)) * (step(3) * step(4)) * (step(5) * step(6));
}

// The polynomial of degree 13 with these terms. They come in pairs: see ExpTail
// in vector_math.h.
PROA_HD double Polynomial13(const double (&c)[14], double t) {
  const double t2 = t * t, t4 = t2 * t2;
  const double p0 = (c[0] + c[1] * t) + t2 * (c[2] + c[3] * t);
  const double p1 = (c[4] + c[5] * t) + t2 * (c[6] + c[7] * t);
  const double p2 = (c[8] + c[9] * t) + t2 * (c[10] + c[11] * t);
  return p0 + t4 * (p1 + t4 * (p2 + t4 * (c[12] + c[13] * t)));
}

// For x >= 0 and NaN. To about 1e-11 of the result, also near its zeros 1
// and 2.
PROA_HD double LogGammaPositive(double x) {
  // log gamma(z) / ((z - 1) (z - 2)) on [1, 2] in powers of z - 3/2.
  constexpr double kTerms[] = {
      0x1.eeb95b0951312p-2,  -0x1.2aed059c0944ap-3, 0x1.01af62839087bp-4,
      -0x1.007aa7c78f872p-5, 0x1.13344203ae91bp-6,  -0x1.34dc27daf9c1ap-7,
      0x1.64e50e93cdb5fp-8,  -0x1.a4eca9387dd3dp-9, 0x1.fa101e9341884p-10,
      -0x1.32ed901c564bp-10, 0x1.5e9a6eee395a3p-11, -0x1.a9738679deaedp-12,
      0x1.9605c27cb7d29p-12, -0x1.046abe8318b59p-12};
  const bool far = x >= kSeries, low = x < 1;
  const double z = NearOne(x);
  const double log = wide::Log(far || low ? x : StepsToNearOne(x));
  const double near = (z - 1) * (z - 2) * Polynomial13(kTerms, z - 1.5);
  const double r = 1 / x, s = r * r;
  const double series =
      (x - 0.5) * log - x +
      (0x1.d67f1c864beb5p-1 +
       r * (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680)))));
  const double y = far ? series : near + (low ? -log : log);
  return (x == 0) | (x == kWideInf) ? kWideInf : y;
}

// To about 1e-11 of 1 below 0: near zeros there it does not hold.
PROA_HD double LogGammaAny(double x) {
  const double a = wide::Abs(x);
  const double mirrored = LogGammaPositive(a);
  const double sine = wide::Abs(wide::SinPi(a - wide::Round(a)));
  const double below = wide::Log(kWidePi / (a * sine)) - mirrored;
  // Floats from 2^24 on are whole numbers.
  const double pole = (sine == 0) | (a > 0x1p24) ? kWideInf : below;
  return x < 0 ? pole : mirrored;
}

// For x >= 0 and NaN. To about 2e-11 of the result, also near its zero.
PROA_HD double DigammaPositive(double x) {
  constexpr double kRoot = 1.4616321449683622,
                   kRootRest = 9.549995429965697e-17;
  // digamma(z) / (z - root) on [1, 2] in powers of z - 3/2.
  constexpr double kTerms[] = {
      0x1.e6f0cbb89a99p-1,   -0x1.b1cb630177177p-2, 0x1.eca188c9f30e4p-3,
      -0x1.2feeea304e36ap-3, 0x1.85135bdf3a533p-4,  -0x1.fb45229e9dfddp-5,
      0x1.4dd3cf367acfdp-5,  -0x1.b9d0c252161fcp-6, 0x1.274c99e7acbf2p-6,
      -0x1.89501f65719b4p-7, 0x1.dc77d797c4f95p-8,  -0x1.39be504e9791ap-8,
      0x1.5a40a94d5eed9p-8,  -0x1.d66b11c8ea707p-9};
  const bool far = x >= kSeries, low = x < 1;
  const double z = NearOne(x);
  const double near = (z - kRoot - kRootRest) * Polynomial13(kTerms, z - 1.5);
  // 1 / (x - 1) + 1 / (x - 2) + ... down to z, or -1 / x, as one quotient.
  double numerator = low ? -1 : 0, denominator = low ? x : 1;
  for (int i = 1; i <= 6; ++i) {
    const double step = x - i;
    const bool more = step >= 1;
    numerator = more ? numerator * step + denominator : numerator;
    denominator = more ? denominator * step : denominator;
  }
  const double r = (far ? 1 : numerator) / (far ? x : denominator), s = r * r;
  const double tail =
      s *
      (1.0 / 12 -
       s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132)))));
  const double y = far ? wide::Log(x) - (0.5 * r + tail) : near + r;
  return x == kWideInf ? x : y;
}

// To about 1e-11 of 1 below 0: near zeros there it does not hold.
PROA_HD double DigammaAny(double x) {
  const double rest = x - wide::Round(x);
  const double forward = DigammaPositive(x < 0 ? 1 - x : x);
  const double slope = kWidePi * wide::CosPi(rest) / wide::SinPi(rest);
  const bool pole = !(rest != 0) | !(wide::Abs(x) < 0x1p24);
  const double below =
      pole ? std::numeric_limits<double>::quiet_NaN() : forward - slope;
  return x < 0 ? below : x == 0 ? -1 / x : forward;
}

// For x >= 0 and NaN. To about 1e-10 of the result.
PROA_HD double TrigammaPositive(double x) {
  const bool far = x >= kSeries;
  // The sum of 1 / (x + i)^2 for i < 6 as one quotient.
  double numerator = 0, denominator = 1;
  for (int i = 0; i < 6; ++i) {
    const double square = (x + i) * (x + i);
    numerator = numerator * square + denominator;
    denominator *= square;
  }
  const double sum = numerator / denominator;
  const double r = 1 / (far ? x : x + 6), s = r * r;
  const double tail =
      r * s *
      (1.0 / 6 -
       s * (1.0 / 30 - s * (1.0 / 42 - s * (1.0 / 30 - s * (5.0 / 66)))));
  const double series = r + (0.5 * s + tail);
  return far ? series : sum + series;
}

PROA_HD double TrigammaAny(double x) {
  const double forward = TrigammaPositive(x < 0 ? 1 - x : x);
  const double sine = wide::SinPi(x - wide::Round(x)) * (1 / kWidePi);
  const double square = wide::Abs(x) < 0x1p24 ? sine * sine : 0;
  const double below = 1 / square - forward;
  return x < 0 ? (x == -kWideInf ? std::numeric_limits<double>::quiet_NaN()
                                 : below)
               : forward;
}

}  // namespace proa::inline v0::ops::special

#endif  // PROA_OPS_SPECIAL_GAMMA_FLOAT_H_
