// LU and triangular systems of a matrix of a few rows, whose sizes are
// known when it is compiled: of many small matrices, loops and memory of their
// own take longer than what they compute. Row-major, as they lie.
#ifndef PROA_OPS_LINALG_SMALL_MATRIX_H_
#define PROA_OPS_LINALG_SMALL_MATRIX_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ops/linalg/numbers.h"

namespace proa::inline v0::ops::dense {

// Complex ones take four times the code.
template <typename T>
inline constexpr int64_t kMostSmall = std::is_floating_point_v<T> ? 8 : 4;

// Whether matrices [n, n] of T are small ones.
template <typename T>
constexpr bool IsSmall(int64_t n) {
  return n >= 1 && n <= kMostSmall<T>;
}

// Divides by one number: complex ones by the larger part of it first, so that
// no square leaves the range.
template <typename T>
class Divisor {
 public:
  explicit Divisor(T x) : x_(x) {}
  T Of(T a) const { return a / x_; }

 private:
  T x_;
};
template <typename R>
class Divisor<std::complex<R>> {
 public:
  explicit Divisor(std::complex<R> x) {
    by_real_ = std::abs(x.real()) >= std::abs(x.imag());
    ratio_ = by_real_ ? x.imag() / x.real() : x.real() / x.imag();
    under_ =
        by_real_ ? x.real() + x.imag() * ratio_ : x.real() * ratio_ + x.imag();
  }
  std::complex<R> Of(std::complex<R> a) const {
    const R c = a.real(), d = a.imag();
    return {(by_real_ ? c + d * ratio_ : c * ratio_ + d) / under_,
            (by_real_ ? d - c * ratio_ : d * ratio_ - c) / under_};
  }

 private:
  bool by_real_;
  R ratio_, under_;
};

// f(std::integral_constant<int, n>()) for 1 <= n <= kMostSmall<T>.
template <typename T, typename F>
auto VisitSmall(int64_t n, F&& f) {
  return [&]<int... kLess>(std::integer_sequence<int, kLess...>) {
    decltype(f(std::integral_constant<int, 1>())) result{};
    (void)((n == kLess + 1 &&
            (result = f(std::integral_constant<int, kLess + 1>()), true)) ||
           ...);
    return result;
  }
  (std::make_integer_sequence<int, kMostSmall<T>>());
}

// L (below the diagonal, which is 1) and U of a [kN, kN], over it. Row i was
// swapped with row swaps[i], for each i in turn. The first pivot that is 0,
// from 1, or 0 if there is none.
template <int kN, typename T>
int32_t SmallLu(T* a, int32_t* swaps) {
  int32_t zero = 0;
#pragma GCC unroll 8
  for (int k = 0; k < kN; ++k) {
    int32_t at = k;
    auto most = SizeOf(a[k * kN + k]);
#pragma GCC unroll 8
    for (int i = k + 1; i < kN; ++i) {
      const auto size = SizeOf(a[i * kN + k]);
      const bool more = size > most;
      at = more ? i : at;
      most = more ? size : most;
    }
    swaps[k] = at;
    // Without a branch, which nothing could predict.
    T* const other = a + at * kN;
#pragma GCC unroll 8
    for (int j = 0; j < kN; ++j) std::swap(a[k * kN + j], other[j]);
    const T pivot = a[k * kN + k];
    if (pivot == T(0)) {
      if (zero == 0) zero = k + 1;
      continue;  // what is below is 0 too
    }
    const Divisor<T> divide(pivot);
#pragma GCC unroll 8
    for (int i = k + 1; i < kN; ++i) {
      const T factor = divide.Of(a[i * kN + k]);
      a[i * kN + k] = factor;
#pragma GCC unroll 8
      for (int j = k + 1; j < kN; ++j)
        a[i * kN + j] -= Times(factor, a[k * kN + j]);
    }
  }
  return zero;
}

// Swaps the rows of x [kN, columns] as SmallLu did, or back.
template <int kN, bool kBack, typename T>
void SwapRows(const int32_t* swaps, T* x, int64_t columns) {
  for (int k = 0; k < kN; ++k) {
    const int i = kBack ? kN - 1 - k : k;
    if (swaps[i] != i)
      std::swap_ranges(x + i * columns, x + (i + 1) * columns,
                       x + swaps[i] * columns);
  }
}

// x [kN, columns] = t^-1 x for the triangle of SmallLu's result that `kUpper`
// says, or for its adjoint. Element (i, j) of what is solved is read at
// lu[j, i] then.
template <int kN, bool kUpper, bool kAdjoint, typename T>
void SolveSmallTriangle(const T* lu, T* x, int64_t columns) {
  constexpr bool kFromEnd = kUpper != kAdjoint;
#pragma GCC unroll 8
  for (int step = 0; step < kN; ++step) {
    const int i = kFromEnd ? kN - 1 - step : step;
    T* const row = x + i * columns;
#pragma GCC unroll 8
    for (int before = 0; before < step; ++before) {
      const int j = kFromEnd ? kN - 1 - before : before;
      const T factor = kAdjoint ? ConjugateOf(lu[j * kN + i]) : lu[i * kN + j];
      for (int64_t c = 0; c < columns; ++c)
        row[c] -= Times(factor, x[j * columns + c]);
    }
    if constexpr (kUpper) {
      const T pivot = lu[i * kN + i];
      const Divisor<T> divide(kAdjoint ? ConjugateOf(pivot) : pivot);
      for (int64_t c = 0; c < columns; ++c) row[c] = divide.Of(row[c]);
    }
  }
}

// x [n, k] = the solution of a x = b, or of a^H x = b; false if a pivot of
// a is 0.
template <typename T>
bool SolveSmall(const T* a, const T* b, int64_t n, int64_t k, bool adjoint,
                T* x) {
  return VisitSmall<T>(n, [&]<int kN>(std::integral_constant<int, kN>) {
    T lu[kN * kN];
    int32_t swaps[kN];
    std::copy_n(a, kN * kN, lu);
    if (SmallLu<kN>(lu, swaps) != 0) return false;
    std::copy_n(b, kN * k, x);
    if (adjoint) {  // U^H L^H P x = b
      SolveSmallTriangle<kN, true, true>(lu, x, k);
      SolveSmallTriangle<kN, false, true>(lu, x, k);
      SwapRows<kN, true>(swaps, x, k);
    } else {
      SwapRows<kN, false>(swaps, x, k);
      SolveSmallTriangle<kN, false, false>(lu, x, k);
      SolveSmallTriangle<kN, true, false>(lu, x, k);
    }
    return true;
  });
}

inline constexpr int64_t kMostReflected = 16;

// Q [m, columns], unless it is null, and R [columns, n] of a [m, n], neither
// larger than kMostReflected, by Householder's reflections. Squares of elements
// must be numbers that are not subnormal.
template <typename T>
void SmallQr(const T* a, int64_t m, int64_t n, int64_t columns, T* q, T* r) {
  const int64_t k = std::min(m, n);
  // Columns, one behind the other; below the diagonal what reflects, whose
  // first element is 1.
  T work[kMostReflected * kMostReflected], taus[kMostReflected];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) work[j * m + i] = a[i * n + j];
  const auto reflect = [&](int64_t s, T tau, T* column) {
    const T* const v = work + s * m;
    T dot = column[s];
    for (int64_t i = s + 1; i < m; ++i)
      dot += Times(ConjugateOf(v[i]), column[i]);
    dot = Times(dot, tau);
    column[s] -= dot;
    for (int64_t i = s + 1; i < m; ++i) column[i] -= Times(dot, v[i]);
  };
  for (int64_t s = 0; s < k; ++s) {
    T* const v = work + s * m;
    const T first = v[s];
    const auto square = [](T x) { return std::real(Times(ConjugateOf(x), x)); };
    decltype(square(first)) below = 0;
    for (int64_t i = s + 1; i < m; ++i) below += square(v[i]);
    taus[s] = 0;
    if (below == 0 && std::imag(first) == 0) continue;
    const auto size = std::sqrt(square(first) + below);
    const auto beta = std::real(first) >= 0 ? -size : size;
    const Divisor<T> divide(first - beta);
    for (int64_t i = s + 1; i < m; ++i) v[i] = divide.Of(v[i]);
    v[s] = beta;
    taus[s] = (beta - first) / beta;
    for (int64_t j = s + 1; j < n; ++j)
      reflect(s, ConjugateOf(taus[s]), work + j * m);
  }
  for (int64_t i = 0; i < columns; ++i)
    for (int64_t j = 0; j < n; ++j)
      r[i * n + j] = i < k && j >= i ? work[j * m + i] : T(0);
  if (q == nullptr) return;
  T turned[kMostReflected * kMostReflected] = {};
  for (int64_t j = 0; j < columns; ++j) turned[j * m + j] = 1;
  for (int64_t s = k; s-- > 0;)
    for (int64_t j = s; j < columns; ++j) reflect(s, taus[s], turned + j * m);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < columns; ++j)
      q[i * columns + j] = turned[j * m + i];
}

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_SMALL_MATRIX_H_
