// Logarithms of double as sums of two numbers, and powers, in vectors, where
// the machine multiplies and adds with one rounding (kHasFma).
#ifndef PROA_OPS_PRIMITIVES_VECTOR_POWER_DOUBLE_H_
#define PROA_OPS_PRIMITIVES_VECTOR_POWER_DOUBLE_H_

#include <cmath>

#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math_double.h"

namespace proa::inline v0::ops::vmath {

// A number as a sum of two, of which the second is less than the last place of
// the first.
struct DoublePair {
  double high, low;
};

// log(a) of positive normal numbers, right to 2^-64 of itself.
PROA_HD DoublePair LogPair(double a) {
  // log(1 + f) = 2 atanh(s) of s = f / (2 + f), here s + s_low.
  double e;
  const double f = SplitLog<true>(a, &e);
  const double d = 2.0 + f, d_low = f - (d - 2.0);
  const double inverse = 1.0 / d;
  const double s = f * inverse;
  const double s_low = MultiplyAdd(-s, d_low, MultiplyAdd(-s, d, f)) * inverse;
  const double z = s * s;
  const double z_low = MultiplyAdd(s + s, s_low, MultiplyAdd(s, s, -z));
  // atanh(s) / s = 1 + z (1/3 + z p).
  const double z2 = z * z;
  const double p =
      MultiplyAdd(z,
                  Horner(z2, 0x1.2492492492521p-3, 0x1.745d177a8f200p-4,
                         0x1.1118c74823a2ep-4, 0x1.e02d197c00c78p-5),
                  Horner(z2, 0x1.999999999999ap-3, 0x1.c71c71c6eaa8dp-4,
                         0x1.3b1395d4f9e5fp-4, 0x1.df7ce9a6bcccbp-5));
  constexpr double kThird = 0x1.5555555555555p-2,
                   kThirdLow = 0x1.5555555555555p-56;
  const double more = z * p, q = kThird + more;
  const double q_low = ((kThird - q) + more) + MultiplyAdd(z_low, p, kThirdLow);
  const double t = z * q;
  const double t_low = MultiplyAdd(z, q, -t) + MultiplyAdd(z, q_low, z_low * q);
  const double u = s * t;
  const double u_low = MultiplyAdd(s, t, -u) + MultiplyAdd(s, t_low, s_low * t);
  const double half = s + u, half_low = ((s - half) + u) + (s_low + u_low);
  // e ln 2 is 0 or the larger one.
  const double whole = e * kLn2HighDouble;
  const double log = MultiplyAdd(2.0, half, whole);
  const double lost = MultiplyAdd(2.0, half, whole - log);
  return {log, lost + MultiplyAdd(e, kLn2LowDouble, half_low + half_low)};
}

// e^(b log a) for RunMended. At most 1 ULP; before it is rounded the result is
// less than half an ULP off, so that powers that are numbers of double are
// exact.
struct VectorPower {
  // NaN where the formula does not hold: bases that are not positive and
  // normal, and results that are not.
  PROA_HD static double Fast(double a, double b) {
    const auto [log, log_low] = LogPair(a);
    const double power = b * log;
    const double power_low =
        MultiplyAdd(b, log_low, MultiplyAdd(b, log, -power));
    const auto [shifted, high, low, unused] = ReduceExp(power);
    const double rest = low - power_low, r = high - rest;
    const double y = 1.0 + (high + MultiplyAdd(r * r, ExpTail(r), -rest));
    const double scaled = FromBits(Bits(y) + (Bits(shifted) << 52));
    const bool holds = (Abs(power) < 708.0) &
                       (InnerLogDouble::Number(a) < InnerLogDouble::kEnd);
    return holds ? scaled : kNanDouble;
  }
  PROA_HD static bool IsHard(double, double, double y) { return y != y; }
  static double Exact(double a, double b) { return std::pow(a, b); }
};

}  // namespace proa::inline v0::ops::vmath

#endif  // PROA_OPS_PRIMITIVES_VECTOR_POWER_DOUBLE_H_
