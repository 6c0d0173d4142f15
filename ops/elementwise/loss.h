// Scalar formulas of loss.yaml: losses of one prediction and one label.
#ifndef PROA_OPS_ELEMENTWISE_LOSS_H_
#define PROA_OPS_ELEMENTWISE_LOSS_H_

#include "ops/elementwise/exponential.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"
#include "ops/primitives/vector_math_double.h"

namespace proa::inline v0::ops::formula {

struct BinaryCrossEntropy {
  static constexpr float kCost = 10;
  // NaN stays.
  template <class T>
  PROA_HD static T LogOf(T p) {
    const T log = Log::Apply(p);
    return log < T(-100) ? T(-100) : log;
  }
  template <class T>
  PROA_HD static T Apply(T x, T label) {
    return -(label * LogOf(x) + (T(1) - label) * LogOf(T(1) - x));
  }
};

struct SigmoidCrossEntropy {
  static constexpr float kCost = 10;
  template <class T>
  PROA_HD static T Apply(T x, T label) {
    const T positive = x < T(0) ? T(0) : x;
    return positive - x * label + vmath::Log1pExpOfMinusAbs(x);
  }
};

struct KlDivergence {
  static constexpr float kCost = 6;
  template <class T>
  PROA_HD static T Apply(T x, T label) {
    return OfLog::Apply(x, label, Log::Apply(label));
  }
  // Labels that are broadcast have fewer logarithms (primitives/cpu/loops.h).
  using OfLast = Log;
  struct OfLog {
    template <class T>
    PROA_HD static T Apply(T x, T label, T log) {
      return label <= T(0) ? T(0) : label * (log - x);
    }
  };
  using WithOfLast = OfLog;
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_LOSS_H_
