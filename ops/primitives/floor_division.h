// Quotients of floats rounded down, and what they leave, in vectors: the
// numbers that RemainderFloat and FloorDivideFloat of arithmetic.h give, by a
// division in double where that is right, which is nearly everywhere
// (mended.h).
//
// Why it is right: let |a| < 2^28 |b|, both finite. If |a| >= |b|, a - n b is a
// multiple of the last place of b, so a / b is a whole number n or at least
// 2^-24 off it, and the rounding of the quotient, at most 2^-25, crosses none.
// n b has at most 52 digits and a - n b at most 25, so both are exact. If |a| <
// |b|, n is 0 or -1, and a + b is rounded to double and then to float, which
// gives the same as one rounding.
//
// Of doubles, where a product and a sum are rounded once (kHasFma): let |a| <
// 2^50 |b|. The rounded quotient crosses no whole number, but may become the
// one above it, so its whole part t is right or one too large. a - t b is a
// multiple of the last place of the lesser of a and b and at most |b|, so it is
// exact, and so is adding b where t was too large. The rest is computed as
// RemainderFloat and FloorDivideFloat do it from fmod.
#ifndef PROA_OPS_PRIMITIVES_FLOOR_DIVISION_H_
#define PROA_OPS_PRIMITIVES_FLOOR_DIVISION_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/primitives/arithmetic.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math_double.h"
#include "ops/primitives/wide_math.h"

namespace proa::inline v0::ops {

struct FloorDivision {
  template <class T>
  static constexpr bool kInVectors = std::is_same_v<T, float> ||
                                     (std::is_same_v<T, double> &&
                                      vmath::kHasFma);
  // True also of NaN.
  PROA_HD static bool IsHard(float a, float b, float) {
    const float size = vmath::Abs(b);
    return !((vmath::Abs(a) < 0x1p28f * size) &
             (size <= std::numeric_limits<float>::max()));
  }
  PROA_HD static bool IsHard(double a, double b, double) {
    const double size = vmath::Abs(b);
    return !((vmath::Abs(a) < 0x1p50 * size) &
             (size <= std::numeric_limits<double>::max()));
  }
  // |fmod(a, b)|.
  PROA_HD static double Left(double a, double b) {
    const double x = vmath::Abs(a), y = vmath::Abs(b);
    const double r = vmath::MultiplyAdd(-vmath::wide::Floor(x / y), y, x);
    return r < 0 ? r + y : r;
  }
  // Negative if the signs differ.
  PROA_HD static int64_t Signs(double a, double b) {
    return static_cast<int64_t>(vmath::Bits(a) ^ vmath::Bits(b));
  }
};

// For RunMended.
struct VectorRemainder : FloorDivision {
  PROA_HD static float Fast(float a, float b) {
    const double x = a, y = b;
    const float r = static_cast<float>(x - vmath::wide::Floor(x / y) * y);
    return r == 0 ? vmath::CopySign(0, b) : r;
  }
  PROA_HD static double Fast(double a, double b) {
    const double r = Left(a, b);
    const double size = Signs(a, b) < 0 ? vmath::Abs(b) - r : r;
    return vmath::CopySign(r == 0 ? 0 : size, b);
  }
  template <class T>
  PROA_HD static T Exact(T a, T b) {
    return RemainderFloat(a, b);
  }
};
struct VectorFloorDivide : FloorDivision {
  PROA_HD static float Fast(float a, float b) {
    const double q = static_cast<double>(a) / static_cast<double>(b);
    const float n = static_cast<float>(vmath::wide::Floor(q));
    return vmath::CopySign(n, static_cast<float>(q));
  }
  PROA_HD static double Fast(double a, double b) {
    const double r = Left(a, b),
                 sign = vmath::FromBits(static_cast<uint64_t>(Signs(a, b)));
    const double size = (vmath::Abs(a) - r) / vmath::Abs(b);
    const double next = r == 0 ? size : size + 1;
    const double q = vmath::CopySign(Signs(a, b) < 0 ? next : size, sign);
    // q is a whole number but for rounding.
    const double whole = vmath::wide::Floor(q);
    return vmath::CopySign(q - whole > 0.5 ? whole + 1 : whole, sign);
  }
  template <class T>
  PROA_HD static T Exact(T a, T b) {
    return FloorDivideFloat(a, b);
  }
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_FLOOR_DIVISION_H_
