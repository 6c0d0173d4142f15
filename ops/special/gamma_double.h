// log |gamma(x)| and its second derivative in double without branches: gamma.h
// loops over them.
#ifndef PROA_OPS_SPECIAL_GAMMA_DOUBLE_H_
#define PROA_OPS_SPECIAL_GAMMA_DOUBLE_H_

#include <bit>
#include <cstdint>

#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math_double.h"
#include "ops/primitives/vector_power_double.h"
#include "ops/primitives/wide_math.h"

namespace proa::inline v0::ops::special {

// From the least normal number to 1e305, where the machine multiplies and adds
// with one rounding; the others are left to scalar.h. At most 1.5 ULP.
struct InnerLogGamma {
  static constexpr uint64_t kLeast = std::bit_cast<uint64_t>(0x1p-1022);
  static constexpr uint64_t kEnd = std::bit_cast<uint64_t>(1e305) - kLeast;
  PROA_HD static uint64_t Number(double x) { return vmath::Bits(x) - kLeast; }
  PROA_HD static double Of(double x) {
    using vmath::MultiplyAdd;
    constexpr double kSeries = 8;  // from here on the asymptotic series holds
    const bool far = x >= kSeries, low = x < 1;
    // Else x = z + n, 1 <= z < 2, n >= -1: log gamma(z) and the logarithm of
    // (x - 1) ... (x - n), or less that of x.
    const auto step = [x](double i) __attribute__((always_inline)) {
      return x - i > 1 ? x - i : 1;
    };
    const double steps =
        (step(1) * step(2)) * (step(3) * step(4)) * (step(5) * step(6));
    const auto [log, log_low] = vmath::LogPair(far || low ? x : steps);
    // log gamma(z) / ((z - 1) (z - 2)) in powers of z - 3/2.
    const double u = low ? x : far ? 0.5 : x - vmath::wide::Floor(x);
    const double t = u - 0.5, t2 = t * t;
    const double even =
        t2 * vmath::Horner(t2, 0x1.01af62a2929c0p-4, 0x1.133423527f1f2p-6,
                           0x1.64f0664c4f943p-8, 0x1.f814bab49d011p-10,
                           0x1.750a7900f071ep-11, 0x1.1c7e3a261c9ebp-12,
                           0x1.b9e43433855c2p-14, 0x1.68f13e0fbb796p-15,
                           0x1.ba730a9784e07p-17, 0x1.9759e019683d0p-17);
    const double odd = vmath::Horner(
        t2, -0x1.2aed059bd608ap-3, -0x1.007aa83cee1acp-5, -0x1.34dbda14971e2p-7,
        -0x1.a5035232a7d25p-9, -0x1.313e8a3ddad6fp-10, -0x1.cb44dee9fac00p-12,
        -0x1.623f109df00eep-13, -0x1.156abea920aefp-14, -0x1.c85e4bc95846cp-16,
        -0x1.18598e23bb974p-17, -0x1.0467902760469p-17);
    constexpr double kMiddle = 0x1.eeb95b094c191p-2,
                     kMiddleLow = 0x1.3ed469cc0967dp-56;
    const double rest = MultiplyAdd(t, odd, even);
    const double p = kMiddle + rest;
    const double p_low = (kMiddle - p) + rest + kMiddleLow;
    const double below = u - 1, product = u * below;
    const double near = product * p;
    const double near_low =
        MultiplyAdd(product, p, -near) +
        MultiplyAdd(product, p_low, MultiplyAdd(u, below, -product) * p);
    // Of the series (x - 1/2) log(x) - x, and what becomes 0.
    const double scale = far ? x - 0.5 : low ? -1.0 : 1.0;
    const double first = scale * log;
    const double first_low = MultiplyAdd(scale, log, -first) + scale * log_low;
    const double second = far ? -x : near;
    const double sum = first + second;
    const double lost = vmath::SumError(first, second, sum);
    const double r = 1 / (far ? x : kSeries), s = r * r;
    const double series = MultiplyAdd(
        r,
        vmath::Horner(s, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                      1.0 / 1188, -691.0 / 360360, 1.0 / 156, -3617.0 / 122400,
                      43867.0 / 244188),
        0x1.d67f1c864beb5p-1);  // log(2 pi) / 2
    return sum + ((far ? series : near_low) + (first_low + lost));
  }
};

// Positive finite numbers; the others are left to scalar.h. At most 4 ULP.
struct InnerTrigamma {
  static constexpr uint64_t kEnd = 0x7ff0000000000000 - 1;
  PROA_HD static uint64_t Number(double x) { return vmath::Bits(x) - 1; }
  PROA_HD static double Of(double x) {
    using vmath::MultiplyAdd;
    // From 10 on the asymptotic series alone.
    constexpr int kSteps = 10;
    const bool far = x >= kSteps;
    // The sum of 1 / (x + i)^2 for 0 < i < 10 as one quotient, the largest term
    // last; that of 0 for itself, as x^2 may be too small.
    const double near = far ? 1.0 : x;
    double numerator = 0, denominator = 1;
    for (int i = kSteps - 1; i > 0; --i) {
      const double step = near + i, square = step * step;
      numerator = MultiplyAdd(numerator, square, denominator);
      denominator *= square;
    }
    const double inverse = 1 / near;
    const double sum = MultiplyAdd(inverse, inverse, numerator / denominator);
    // 1/y + 1 / (2 y^2) + B_2 / y^3 + B_4 / y^5 + ...
    const double r = 1 / (far ? x : x + kSteps), s = r * r;
    const double tail =
        vmath::Horner(s, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66,
                      -691.0 / 2730, 7.0 / 6, -3617.0 / 510, 43867.0 / 798);
    const double series = r + MultiplyAdd(s * r, tail, 0.5 * s);
    return far ? series : sum + series;
  }
};

}  // namespace proa::inline v0::ops::special

#endif  // PROA_OPS_SPECIAL_GAMMA_DOUBLE_H_
