// Scalar formulas of exponential.yaml: exponentials, logarithms and the
// functions made of them (math_formula.h).
#ifndef PROA_OPS_ELEMENTWISE_EXPONENTIAL_H_
#define PROA_OPS_ELEMENTWISE_EXPONENTIAL_H_

#include <cmath>
#include <complex>
#include <type_traits>

#include "ops/elementwise/math_formula.h"
#include "ops/primitives/arithmetic.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/pieces.h"
#include "ops/primitives/vector_math.h"

namespace proa::inline v0::ops::formula {

PROA_MATH_FORMULA(Expm1, expm1, 4);
PROA_MATH_FORMULA(Log1p, log1p, 4);
PROA_MATH_FORMULA(Tanh, tanh, 6);
PROA_MATH_FORMULA(Erf, erf, 6);

PROA_INNER_FORMULA(Exp, exp, 4, InnerExp);
PROA_INNER_FORMULA(Log, log, 4, InnerLog);
PROA_INNER_FORMULA(Log2, log2, 4, InnerLog);
PROA_INNER_FORMULA(Log10, log10, 4, InnerLog);

// log(x / (1 - x)).
struct Logit {
  static constexpr float kCost = 8;
  template <class T>
  PROA_HD static T Apply(T x) {
    return vmath::Logit(x);
  }
  struct Inner : vmath::InnerLogit {
    PROA_HD static float Of(float x) { return vmath::Logit<true>(x); }
  };
  PROA_HD static void Block(const float* x, float* out, int64_t n) {
    MapPieces<Inner, Logit>(x, out, n);
  }
};

// 1 / (1 + e^-x).
struct Sigmoid {
  static constexpr float kCost = 6;
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (std::is_same_v<T, float>) {
      return vmath::Sigmoid(x);
    } else {
      const T e = Exp::Apply(-std::abs(x));
      return (x >= 0 ? T(1) : e) / (1 + e);
    }
  }
};

// grad * (1 - out^2), from the result of tanh.
struct TanhBackward {
  template <class T>
  PROA_HD static T Apply(T grad, T out) {
    if constexpr (kIsComplex<T>) {
      return WrapMultiply(grad, std::conj(T(1) - WrapMultiply(out, out)));
    } else {
      return grad * (1 - out * out);
    }
  }
};

// grad * out * (1 - out), from the result of sigmoid.
struct SigmoidBackward {
  template <class T>
  PROA_HD static T Apply(T grad, T out) {
    return grad * (out * (1 - out));
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_EXPONENTIAL_H_
