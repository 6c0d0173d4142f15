// The operations and types in which elements are taken together by sums and
// products, whole or running.
#ifndef PROA_OPS_PRIMITIVES_CPU_ACCUMULATOR_H_
#define PROA_OPS_PRIMITIVES_CPU_ACCUMULATOR_H_

#include "ops/primitives/arithmetic.h"
#include "ops/primitives/host_device.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops::PROA_ISA {

struct SumOf {
  template <class T>
  static T Identity() {
    return T(0);
  }
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    return WrapAdd(a, b);
  }
};

struct ProductOf {
  template <class T>
  static T Identity() {
    return T(1);
  }
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    return WrapMultiply(a, b);
  }
};

// The type in which results of type `out` are added up: float for the half
// types, int64 for bool and integers.
constexpr DType AccumulatorOf(DType out) {
  if (out == DType::kFloat16 || out == DType::kBFloat16) {
    return DType::kFloat32;
  }
  return IsInteger(out) || out == DType::kBool ? DType::kInt64 : out;
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_ACCUMULATOR_H_
