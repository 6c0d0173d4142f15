// Scalar formulas of activation.yaml.
#ifndef PROA_OPS_ELEMENTWISE_ACTIVATION_H_
#define PROA_OPS_ELEMENTWISE_ACTIVATION_H_

#include <cmath>
#include <type_traits>

#include "ops/elementwise/exponential.h"
#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops::formula {

// max(x, 0); NaN stays.
struct Relu {
  template <class T>
  PROA_HD static T Apply(T x) {
    return x < 0 ? T(0) : x;
  }
};

// grad where out > 0, else 0: the gradient of relu from its result.
struct ReluBackward {
  template <class T>
  PROA_HD static T Apply(T grad, T out) {
    return out > 0 ? grad : T(0);
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_ACTIVATION_H_
