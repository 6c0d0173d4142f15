// Scalar formulas of complex.yaml.
#ifndef PROA_OPS_ELEMENTWISE_COMPLEX_H_
#define PROA_OPS_ELEMENTWISE_COMPLEX_H_

#include <cmath>
#include <complex>

#include "ops/primitives/cast_value.h"
#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops::formula {

struct ConjComplex {
  template <class T>
  PROA_HD static T Apply(T x) {
    return T(x.real(), -x.imag());
  }
};

struct RealOfComplex {
  template <class T>
  PROA_HD static auto Apply(T x) {
    return x.real();
  }
};

struct Imag {
  template <class T>
  PROA_HD static auto Apply(T x) {
    return x.imag();
  }
};

struct Complex {
  template <class T>
  PROA_HD static std::complex<T> Apply(T real, T imag) {
    return {real, imag};
  }
};

struct Angle {
  static constexpr float kCost = 32;
  template <class T>
  PROA_HD static auto Apply(T x) {
    if constexpr (kIsComplex<T>) {
      return std::atan2(x.imag(), x.real());
    } else {
      return x < 0 ? T(3.141592653589793238462643L) : x == x ? T(0) : x;
    }
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_COMPLEX_H_
