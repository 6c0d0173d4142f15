// Formulas of one argument that are one function: vmath's for float and double
// (vector versions), the standard library's for complex.
#ifndef PROA_OPS_ELEMENTWISE_MATH_FORMULA_H_
#define PROA_OPS_ELEMENTWISE_MATH_FORMULA_H_

#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "ops/primitives/host_device.h"
#include "ops/primitives/pieces.h"
#include "ops/primitives/vector_math.h"
#include "ops/primitives/vector_math_double.h"

// vmath::Name of real numbers and std::name of complex ones, with what it
// costs.
#define PROA_MATH_FORMULA(Name, name, cost) \
  struct Name {                             \
    PROA_MATH_APPLY(Name, name, cost)       \
  }

// The same, of functions with a shorter formula for arguments in vmath::Range.
#define PROA_INNER_FORMULA(Name, name, cost, Range)                       \
  struct Name {                                                           \
    PROA_MATH_APPLY(Name, name, cost)                                     \
    struct Inner : vmath::Range {                                         \
      PROA_HD static float Of(float x) { return vmath::Name<true>(x); }   \
    };                                                                    \
    struct InnerDouble : vmath::Range##Double {                           \
      PROA_HD static double Of(double x) { return vmath::Name<true>(x); } \
    };                                                                    \
    PROA_HD static void Block(const float* x, float* out, int64_t n) {    \
      MapPieces<Inner, Name>(x, out, n);                                  \
    }                                                                     \
    PROA_HD static void Block(const double* x, double* out, int64_t n) {  \
      MapPieces<InnerDouble, Name>(x, out, n);                            \
    }                                                                     \
  }

#define PROA_MATH_APPLY(Name, name, cost)        \
  static constexpr float kCost = cost;           \
  template <class T>                             \
  PROA_HD static T Apply(T x) {                  \
    if constexpr (std::is_floating_point_v<T>) { \
      return vmath::Name(x);                     \
    } else {                                     \
      return std::name(x);                       \
    }                                            \
  }

#endif  // PROA_OPS_ELEMENTWISE_MATH_FORMULA_H_
