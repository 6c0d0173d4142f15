// Arithmetic that is defined for every value of every element type: integers
// wrap instead of overflowing, division by zero and INT_MIN / -1 do not trap,
// and complex products are the plain formula, which vectorizes (the standard
// library's multiplication first looks for infinities).
#ifndef PROA_OPS_PRIMITIVES_ARITHMETIC_H_
#define PROA_OPS_PRIMITIVES_ARITHMETIC_H_

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/primitives/cast_value.h"
#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops {

template <typename T>
inline constexpr bool kIsInteger =
    std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <typename T>
PROA_HD T WrapAdd(T a, T b) {
  if constexpr (kIsInteger<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return static_cast<T>(a + b);
  }
}
template <typename T>
PROA_HD T WrapSubtract(T a, T b) {
  if constexpr (kIsInteger<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  } else {
    return static_cast<T>(a - b);
  }
}
template <typename T>
PROA_HD T WrapMultiply(T a, T b) {
  if constexpr (kIsInteger<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else if constexpr (kIsComplex<T>) {
    // Sums only: of a difference beside a sum gcc makes fused multiply-adds,
    // even where it is told not to.
    const auto minus = -a.imag();
    return T(a.real() * b.real() + minus * b.imag(),
             a.real() * b.imag() + a.imag() * b.real());
  } else {
    return static_cast<T>(a * b);
  }
}
template <typename T>
PROA_HD T WrapNegate(T a) {
  if constexpr (kIsInteger<T>) {
    return WrapSubtract(T{0}, a);
  } else {
    return -a;
  }
}

// Smith's algorithm: no overflow unless the quotient does.
template <typename R>
PROA_HD std::complex<R> DivideComplex(std::complex<R> a, std::complex<R> b) {
  const R ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
  if (std::abs(br) >= std::abs(bi)) {
    if (br == 0 && bi == 0) return {ar / std::abs(br), ai / std::abs(br)};
    const R ratio = bi / br, scale = 1 / (br + bi * ratio);
    return {(ar + ai * ratio) * scale, (ai - ar * ratio) * scale};
  }
  const R ratio = br / bi, scale = 1 / (bi + br * ratio);
  return {(ar * ratio + ai) * scale, (ai * ratio - ar) * scale};
}

// Quotient rounded towards negative infinity; 0 where the divisor is 0.
template <typename T>
PROA_HD T FloorDivideInteger(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return WrapNegate(a);
  }
  const T q = static_cast<T>(a / b);
  const bool down = a % b != 0 && (a < 0) != (b < 0);
  return static_cast<T>(q - (down ? 1 : 0));
}
// a - b * floor(a / b), with the sign of b; 0 where the divisor is 0.
template <typename T>
PROA_HD T RemainderInteger(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return 0;
  }
  const T r = static_cast<T>(a % b);
  return static_cast<T>(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}

// Python's `a % b` of floats: exact, with the sign of b (also of a zero).
template <typename T>
PROA_HD T RemainderFloat(T a, T b) {
  const T r = std::fmod(a, b);
  if (r == 0) return std::copysign(T{0}, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
// Python's `a // b` of floats; a / b where b is zero.
template <typename T>
PROA_HD T FloorDivideFloat(T a, T b) {
  if (b == 0) return a / b;
  const T r = std::fmod(a, b);
  T q = (a - r) / b;
  if (r != 0 && (r < 0) != (b < 0)) q -= 1;
  if (q == 0) return std::copysign(T{0}, a / b);
  // q is a whole number but for rounding.
  const T whole = std::floor(q);
  return q - whole > T(0.5) ? whole + 1 : whole;
}
// Of floats in double, which holds more quotients exactly.
PROA_HD float FloorDivideFloat(float a, float b) {
  return static_cast<float>(FloorDivideFloat<double>(a, b));
}

// a^n by squaring, wrapping. For n < 0 the real result towards zero: 0 but for
// a = 1 and -1; 0 for a = 0.
template <typename T>
PROA_HD T PowerInteger(T a, T n) {
  if constexpr (std::is_signed_v<T>) {
    if (n < 0) {
      if (a == 1) return 1;
      if (a == T{-1}) return n % 2 == 0 ? T{1} : T{-1};
      return 0;
    }
  }
  T result = 1;
  for (; n > 0; n = static_cast<T>(n >> 1)) {
    if (n & 1) result = WrapMultiply(result, a);
    a = WrapMultiply(a, a);
  }
  return result;
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_ARITHMETIC_H_
