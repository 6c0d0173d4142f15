// Scalar formulas of unary.yaml: sign, powers and roots, rounding, tests.
#ifndef PROA_OPS_ELEMENTWISE_UNARY_H_
#define PROA_OPS_ELEMENTWISE_UNARY_H_

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "ops/primitives/arithmetic.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/square_root.h"

namespace proa::inline v0::ops::formula {

struct Neg {
  template <class T>
  PROA_HD static T Apply(T x) {
    return WrapNegate(x);
  }
};

// Of complex numbers the modulus, a real number.
struct Abs {
  template <class T>
  PROA_HD static auto Apply(T x) {
    if constexpr (kIsComplex<T>) {
      return std::hypot(x.real(), x.imag());
    } else if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else if constexpr (kIsInteger<T>) {
      return x < 0 ? WrapNegate(x) : x;
    } else {
      return std::abs(x);
    }
  }
};

// -1, 0 or 1; NaN stays.
struct Sign {
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (std::is_unsigned_v<T>) {
      return x > 0 ? 1 : 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      return x > 0 ? T(1) : x < 0 ? T(-1) : x == x ? T(0) : x;
    } else {
      return x > 0 ? T(1) : x < 0 ? T(-1) : T(0);
    }
  }
};

// x / |x|, 0 at 0.
struct Sgn {
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (kIsComplex<T>) {
      const auto r = std::hypot(x.real(), x.imag());
      return r == 0 ? T(0) : T(x.real() / r, x.imag() / r);
    } else {
      return Sign::Apply(x);
    }
  }
};

struct Square {
  template <class T>
  PROA_HD static T Apply(T x) {
    return WrapMultiply(x, x);
  }
};

struct Reciprocal {
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (kIsComplex<T>) {
      return DivideComplex(T(1), x);
    } else {
      return 1 / x;
    }
  }
};

struct Sqrt {
  static constexpr float kCost = 2;
  template <class T>
  PROA_HD static T Apply(T x) {
    return std::sqrt(x);
  }
  PROA_HD static void Block(const float* x, float* out, int64_t n) {
    SquareRoots(x, out, n);
  }
  PROA_HD static void Block(const double* x, double* out, int64_t n) {
    SquareRoots(x, out, n);
  }
};

struct Rsqrt {
  static constexpr float kCost = 4;
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (kIsComplex<T>) {
      return DivideComplex(T(1), std::sqrt(x));
    } else {
      return 1 / std::sqrt(x);
    }
  }
};

// Rounding. Integers are whole already.

namespace unary_internal {

// Numbers of at least this size have no fraction: 2^23, 2^52.
template <class T>
inline constexpr T kWhole = T(uint64_t{1}
                              << (std::numeric_limits<T>::digits - 1));

// To the nearest whole number, ties to even: adding 2^23 leaves no room for a
// fraction. Vectorizes on every instruction set, unlike std::nearbyint.
template <class T>
PROA_HD T RoundEven(T x) {
  const T a = std::abs(x);
  const T r = (a + kWhole<T>)-kWhole<T>;
  return std::copysign(a < kWhole<T> ? r : a, x);
}

// Whether floor, ceil and trunc of <cmath> are instructions.
#ifdef __SSE4_1__
inline constexpr bool kRoundsAtOnce = true;
#else
inline constexpr bool kRoundsAtOnce = false;
#endif

}  // namespace unary_internal

struct Floor {
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (!std::is_floating_point_v<T>) {
      return x;
    } else if constexpr (unary_internal::kRoundsAtOnce) {
      return std::floor(x);
    } else {
      const T r = unary_internal::RoundEven(x);
      return std::copysign(r > x ? r - 1 : r, x);
    }
  }
};

struct Ceil {
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (!std::is_floating_point_v<T>) {
      return x;
    } else if constexpr (unary_internal::kRoundsAtOnce) {
      return std::ceil(x);
    } else {
      const T r = unary_internal::RoundEven(x);
      return std::copysign(r < x ? r + 1 : r, x);
    }
  }
};

struct Round {
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return unary_internal::RoundEven(x);
    } else {
      return x;
    }
  }
};

struct Trunc {
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (!std::is_floating_point_v<T>) {
      return x;
    } else if constexpr (unary_internal::kRoundsAtOnce) {
      return std::trunc(x);
    } else {
      return std::copysign(Floor::Apply(std::abs(x)), x);
    }
  }
};

// x - trunc(x); of infinities 0, with the sign of x.
struct Frac {
  template <class T>
  PROA_HD static T Apply(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      const T whole = Trunc::Apply(x);
      return std::copysign(x == whole ? T(0) : x - whole, x);
    } else {
      return T(0);
    }
  }
};

// Tests
// -------------------------------------------------------------------------

struct Signbit {
  template <class T>
  PROA_HD static bool Apply(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::signbit(x);
    } else if constexpr (std::is_unsigned_v<T>) {
      return false;
    } else {
      return x < 0;
    }
  }
};

struct Isnan {
  template <class T>
  PROA_HD static bool Apply(T x) {
    return x != x;
  }
};

struct Isfinite {
  template <class T>
  PROA_HD static bool Apply(T x) {
    if constexpr (kIsComplex<T>) {
      return Apply(x.real()) && Apply(x.imag());
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::abs(x) <= std::numeric_limits<T>::max();
    } else {
      return true;
    }
  }
};

struct Isinf {
  template <class T>
  PROA_HD static bool Apply(T x) {
    if constexpr (kIsComplex<T>) {
      return Apply(x.real()) || Apply(x.imag());
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::abs(x) > std::numeric_limits<T>::max();
    } else {
      return false;
    }
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_UNARY_H_
