// Real and complex numbers as LAPACK takes them.
#ifndef PROA_OPS_LINALG_NUMBERS_H_
#define PROA_OPS_LINALG_NUMBERS_H_

#include <cmath>
#include <complex>
#include <type_traits>

namespace proa::inline v0::ops::dense {

// Of complex numbers without the care for infinities that C++ takes.
template <typename T>
T Times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return {a.real() * b.real() - a.imag() * b.imag(),
            a.real() * b.imag() + a.imag() * b.real()};
  }
}

template <typename T>
T ConjugateOf(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return std::conj(x);
  }
}

// What pivots are compared by.
template <typename T>
auto SizeOf(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::abs(x);
  } else {
    return std::abs(x.real()) + std::abs(x.imag());
  }
}

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_NUMBERS_H_
