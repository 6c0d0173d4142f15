// Formulas of gamma.yaml: scalar.h says what they compute.
#ifndef PROA_OPS_SPECIAL_GAMMA_H_
#define PROA_OPS_SPECIAL_GAMMA_H_

#include <cstdint>

#include "ops/special/scalar.h"

namespace proa::inline v0::ops::formula {

struct Lgamma {
  static constexpr float kCost = 40;
  template <class T>
  static T Apply(T x) {
    return static_cast<T>(special::LogGamma(x));
  }
};

struct Digamma {
  static constexpr float kCost = 40;
  template <class T>
  static T Apply(T x) {
    return static_cast<T>(special::Digamma(x));
  }
};

struct Polygamma {
  static constexpr float kCost = 120;
  int64_t n;
  template <class T>
  T Apply(T x) const {
    return static_cast<T>(special::Polygamma(n, x));
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_SPECIAL_GAMMA_H_
