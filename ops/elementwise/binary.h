// Scalar formulas of binary.yaml: arithmetic of two elements.
#ifndef PROA_OPS_ELEMENTWISE_BINARY_H_
#define PROA_OPS_ELEMENTWISE_BINARY_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/primitives/arithmetic.h"
#include "ops/primitives/floor_division.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/mended.h"
#include "ops/primitives/vector_math.h"
#include "ops/primitives/vector_math_double.h"
#include "ops/primitives/vector_power_double.h"
#include "ops/primitives/vector_trigonometry.h"
#include "ops/primitives/vector_trigonometry_double.h"
#include "ops/primitives/wide_math.h"

namespace proa::inline v0::ops::formula {

struct Add {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return WrapAdd(a, b);
  }
};

struct Subtract {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return WrapSubtract(a, b);
  }
};

struct Multiply {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return WrapMultiply(a, b);
  }
};

struct Divide {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    if constexpr (kIsComplex<T>) {
      return DivideComplex(a, b);
    } else {
      return a / b;
    }
  }
};

struct FloorDivide {
  static constexpr float kCost = 16;
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    if constexpr (kIsInteger<T>) {
      return FloorDivideInteger(a, b);
    } else {
      return FloorDivideFloat(a, b);
    }
  }
  template <class T>
  __attribute__((always_inline)) static void Block(const T* a, const T* b,
                                                   T* out, int64_t n) requires
      FloorDivision::kInVectors<T> {
    RunMended<VectorFloorDivide>(out, n, a, b);
  }
};

struct Remainder {
  static constexpr float kCost = 16;
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    if constexpr (kIsInteger<T>) {
      return RemainderInteger(a, b);
    } else {
      return RemainderFloat(a, b);
    }
  }
  template <class T>
  __attribute__((always_inline)) static void Block(const T* a, const T* b,
                                                   T* out, int64_t n) requires
      FloorDivision::kInVectors<T> {
    RunMended<VectorRemainder>(out, n, a, b);
  }
};

struct Pow {
  static constexpr float kCost = 32;
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    if constexpr (kIsInteger<T>) {
      return PowerInteger(a, b);
    } else if constexpr (kIsComplex<T>) {
      // The standard library takes log(0).
      if (b == T(0)) return T(1);
      if (a == T(0) && b.imag() == 0 && b.real() > 0) return T(0);
      return std::pow(a, b);
    } else if constexpr (std::is_same_v<T, float>) {
      return vmath::wide::Pow(a, b);
    } else {
      return std::pow(a, b);
    }
  }
  // An exponent that is the same for all elements is the usual case, and for
  // the small powers of everyday use a multiplication does.
  template <class T>
  __attribute__((always_inline)) static void Block(const T* a, const T* b,
                                                   T* out, int64_t n) {
    if constexpr (std::is_floating_point_v<T>) {
      int64_t same = 0;
      while (same < n && b[same] == b[0]) ++same;
      if (same == n && n > 0 && Everyday(a, b[0], out, n)) return;
    }
    if constexpr (std::is_same_v<T, float>) return Pieces(a, b, out, n);
    if constexpr (std::is_same_v<T, double> && vmath::kHasFma) {
      return RunMended<vmath::VectorPower>(out, n, a, b);
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = Apply(a[i], b[i]);
  }

 private:
  // The usual case has fewer questions: bases that are positive.
  __attribute__((always_inline)) static void Pieces(const float* a,
                                                    const float* b, float* out,
                                                    int64_t n) {
    constexpr int64_t kPiece = 256;
    for (int64_t begin = 0; begin < n; begin += kPiece) {
      const int64_t end = n - begin < kPiece ? n : begin + kPiece;
      int32_t other = 0;
      for (int64_t i = begin; i < end; ++i) {
        const bool usual = (a[i] > 0) & (a[i] < vmath::kInf) &
                           (vmath::Abs(b[i]) < vmath::kInf);
        other |= usual ? 0 : 1;
      }
      if (other == 0) {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          out[i] = vmath::wide::PowOfPositive(a[i], b[i]);
        }
      } else {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) {
          out[i] = vmath::wide::Pow(a[i], b[i]);
        }
      }
    }
  }
  // x^2, x^3 and x^-1 in the arithmetic of T; false for other exponents.
  template <class T>
  static bool Everyday(const T* a, T exponent, T* out, int64_t n) {
    if (exponent == 2) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = a[i] * a[i];
    } else if (exponent == 3) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = a[i] * a[i] * a[i];
    } else if (exponent == -1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = 1 / a[i];
    } else if (exponent == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = a[i];
    } else {
      return false;
    }
    return true;
  }
};

// NaN wins.
struct Maximum {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return a != a || a > b ? a : b;
  }
};

struct Minimum {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return a != a || a < b ? a : b;
  }
};

// NaN loses.
struct Fmax {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return a >= b || b != b ? a : b;
  }
};

struct Fmin {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return a <= b || b != b ? a : b;
  }
};

struct Atan2 {
  static constexpr float kCost = 32;
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return vmath::Atan2(a, b);
  }
};

// Squares of numbers that are very large or small would not be numbers, or lose
// bits: those are scaled, by powers of two.
struct Hypot {
  static constexpr float kCost = 8;
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    constexpr bool kFloat = std::is_same_v<T, float>;
    constexpr T kLarge = static_cast<T>(kFloat ? 0x1p63 : 0x1p511),
                kSmall = static_cast<T>(kFloat ? 0x1p-50 : 0x1p-450),
                kDown = static_cast<T>(kFloat ? 0x1p-70 : 0x1p-600),
                kUp = static_cast<T>(kFloat ? 0x1p90 : 0x1p600);
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const T x = std::abs(a), y = std::abs(b), most = x > y ? x : y;
    const T scale = most > kLarge ? kDown : most < kSmall ? kUp : T(1);
    const T back = most > kLarge   ? T(1) / kDown
                   : most < kSmall ? T(1) / kUp
                                   : T(1);
    const T r = std::sqrt(x * scale * (x * scale) + y * scale * (y * scale));
    return x == kInfinity || y == kInfinity ? kInfinity : r * back;
  }
};

struct Logaddexp {
  static constexpr float kCost = 10;
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    const T larger = a > b ? a : b;
    // Infinities that are equal cannot be subtracted from each other.
    const T apart = a == b ? T(0) : a - b;
    return larger + vmath::Log1pExpOfMinusAbs(apart);
  }
};

struct Copysign {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return std::copysign(a, b);
  }
};

struct Heaviside {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return a == T(0) ? b : T(a > T(0));
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_BINARY_H_
