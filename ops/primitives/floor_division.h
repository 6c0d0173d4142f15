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
#ifndef PROA_OPS_PRIMITIVES_FLOOR_DIVISION_H_
#define PROA_OPS_PRIMITIVES_FLOOR_DIVISION_H_

#include <cmath>
#include <limits>

#include "ops/primitives/arithmetic.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/wide_math.h"

namespace proa::inline v0::ops {

struct FloorDivision {
  // True also of NaN.
  PROA_HD static bool IsHard(float a, float b, float) {
    const float size = vmath::Abs(b);
    return !((vmath::Abs(a) < 0x1p28f * size) &
             (size <= std::numeric_limits<float>::max()));
  }
};

// For RunMended.
struct VectorRemainder : FloorDivision {
  PROA_HD static float Fast(float a, float b) {
    const double x = a, y = b;
    const float r = static_cast<float>(x - vmath::wide::Floor(x / y) * y);
    return r == 0 ? vmath::CopySign(0, b) : r;
  }
  PROA_HD static float Exact(float a, float b) { return RemainderFloat(a, b); }
};
struct VectorFloorDivide : FloorDivision {
  PROA_HD static float Fast(float a, float b) {
    const double q = static_cast<double>(a) / static_cast<double>(b);
    const float n = static_cast<float>(vmath::wide::Floor(q));
    return vmath::CopySign(n, static_cast<float>(q));
  }
  PROA_HD static float Exact(float a, float b) {
    return FloorDivideFloat(a, b);
  }
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_FLOOR_DIVISION_H_
