// Scalar formulas of trigonometric.yaml: vector versions for real numbers, the
// standard library for complex ones.
#ifndef PROA_OPS_ELEMENTWISE_TRIGONOMETRIC_H_
#define PROA_OPS_ELEMENTWISE_TRIGONOMETRIC_H_

#include <cmath>
#include <complex>
#include <cstdint>

#include "ops/elementwise/math_formula.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/pieces.h"
#include "ops/primitives/vector_trigonometry.h"
#include "ops/primitives/vector_trigonometry_double.h"

namespace proa::inline v0::ops::formula {

// Sine, cosine, tangent: the vector versions hold for |x| <= kReducible; larger
// elements (and NaN) go through the standard library, which reduces by as many
// bits of pi as it takes.
#define PROA_PERIODIC_FORMULA(Name, name)                                \
  struct Name {                                                          \
    static constexpr float kCost = 8;                                    \
    struct Inner : vmath::InnerSin {                                     \
      PROA_HD static float Of(float x) { return vmath::Name(x); }        \
    };                                                                   \
    struct InnerDouble : vmath::InnerSinDouble {                         \
      PROA_HD static double Of(double x) { return vmath::Name(x); }      \
    };                                                                   \
    template <class T>                                                   \
    PROA_HD static T Apply(T x) {                                        \
      return std::name(x);                                               \
    }                                                                    \
    PROA_HD static void Block(const float* x, float* out, int64_t n) {   \
      MapMost<Inner, Name>(x, out, n);                                   \
    }                                                                    \
    PROA_HD static void Block(const double* x, double* out, int64_t n) { \
      MapMost<InnerDouble, Name>(x, out, n);                             \
    }                                                                    \
  }

PROA_PERIODIC_FORMULA(Sin, sin);
PROA_PERIODIC_FORMULA(Cos, cos);
PROA_PERIODIC_FORMULA(Tan, tan);

#undef PROA_PERIODIC_FORMULA

PROA_MATH_FORMULA(Asin, asin, 6);
PROA_MATH_FORMULA(Acos, acos, 6);
PROA_MATH_FORMULA(Atan, atan, 6);
PROA_MATH_FORMULA(Sinh, sinh, 6);
PROA_MATH_FORMULA(Cosh, cosh, 6);
PROA_MATH_FORMULA(Asinh, asinh, 8);
PROA_MATH_FORMULA(Acosh, acosh, 8);
PROA_MATH_FORMULA(Atanh, atanh, 8);

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_TRIGONOMETRIC_H_
