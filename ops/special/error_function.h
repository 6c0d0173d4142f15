// Formulas of error_function.yaml: scalar.h says what they compute.
#ifndef PROA_OPS_SPECIAL_ERROR_FUNCTION_H_
#define PROA_OPS_SPECIAL_ERROR_FUNCTION_H_

#include "ops/special/scalar.h"

namespace proa::inline v0::ops::formula {

struct Erfinv {
  static constexpr float kCost = 60;
  template <class T>
  static T Apply(T x) {
    return static_cast<T>(special::InverseErf(x));
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_SPECIAL_ERROR_FUNCTION_H_
