// Scalar formulas of trigonometric.yaml: vector versions for float, the
// standard library for double and complex.
#ifndef PROA_OPS_ELEMENTWISE_TRIGONOMETRIC_H_
#define PROA_OPS_ELEMENTWISE_TRIGONOMETRIC_H_

#include <cmath>
#include <complex>
#include <type_traits>

#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"

namespace proa::inline v0::ops::formula {

// Sine, cosine, tangent: the vector versions hold for |x| <= kReducible; blocks
// with a larger element (or NaN) go element by element through the standard
// library, which reduces by as many bits of pi as it takes.
#define PROA_PERIODIC_FORMULA(Name, name)                           \
  struct Name {                                                     \
    static constexpr float kCost = 8;                               \
    template <class T>                                              \
    PROA_HD static T Apply(T x) {                                   \
      return std::name(x);                                          \
    }                                                               \
    static void Block(const float* x, float* out, int64_t n) {      \
      constexpr int64_t kPiece = 256;                               \
      for (int64_t i = 0; i < n; i += kPiece) {                     \
        const int64_t m = n - i < kPiece ? n - i : kPiece;          \
        Piece(x + i, out + i, m);                                   \
      }                                                             \
    }                                                               \
                                                                    \
   private:                                                         \
    static void Piece(const float* x, float* out, int64_t n) {      \
      int large = 0;                                                \
      for (int64_t i = 0; i < n; ++i) {                             \
        large |= !(vmath::Abs(x[i]) <= vmath::kReducible);          \
      }                                                             \
      if (large) {                                                  \
        for (int64_t i = 0; i < n; ++i) out[i] = std::name(x[i]);   \
        return;                                                     \
      }                                                             \
      _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) out[i] = \
          vmath::Name(x[i]);                                        \
    }                                                               \
  }

PROA_PERIODIC_FORMULA(Sin, sin);
PROA_PERIODIC_FORMULA(Cos, cos);
PROA_PERIODIC_FORMULA(Tan, tan);

#undef PROA_PERIODIC_FORMULA

#define PROA_MATH_FORMULA(Name, name, cost)     \
  struct Name {                                 \
    static constexpr float kCost = cost;        \
    template <class T>                          \
    PROA_HD static T Apply(T x) {               \
      if constexpr (std::is_same_v<T, float>) { \
        return vmath::Name(x);                  \
      } else {                                  \
        return std::name(x);                    \
      }                                         \
    }                                           \
  }

PROA_MATH_FORMULA(Asin, asin, 6);
PROA_MATH_FORMULA(Acos, acos, 6);
PROA_MATH_FORMULA(Atan, atan, 6);
PROA_MATH_FORMULA(Sinh, sinh, 6);
PROA_MATH_FORMULA(Cosh, cosh, 6);
PROA_MATH_FORMULA(Asinh, asinh, 8);
PROA_MATH_FORMULA(Acosh, acosh, 8);
PROA_MATH_FORMULA(Atanh, atanh, 8);

#undef PROA_MATH_FORMULA

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_TRIGONOMETRIC_H_
