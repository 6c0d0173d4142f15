// Formulas of bessel.yaml: scalar.h says what they compute.
#ifndef PROA_OPS_SPECIAL_BESSEL_H_
#define PROA_OPS_SPECIAL_BESSEL_H_

#include <cstdint>

#include "ops/special/scalar.h"

namespace proa::inline v0::ops::formula {

struct BesselI {
  static constexpr float kCost = 40;
  int64_t order;
  template <class T>
  T Apply(T x) const {
    return static_cast<T>(special::BesselI(order, x));
  }
};

struct BesselIe {
  static constexpr float kCost = 40;
  int64_t order;
  template <class T>
  T Apply(T x) const {
    return static_cast<T>(special::ScaledBesselI(order, x));
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_SPECIAL_BESSEL_H_
