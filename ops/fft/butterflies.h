// Discrete Fourier transforms of a few points that are known when compiling,
// each of them a vector of numbers of different lines:
//
//   Dft<float, 12>::Run(re, im);  // vectors re[12], im[12], in place
//
// Forward (exp(-2 pi i j k / n)), results in natural order. Included by sources
// that are compiled once for each instruction set.
#ifndef PROA_OPS_FFT_BUTTERFLIES_H_
#define PROA_OPS_FFT_BUTTERFLIES_H_

#include <numbers>
#include <utility>

#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {

// cos and sin of 2 pi k / n. The library's are no constant expressions for each
// compiler. Reduced to one eighth of a turn; the series is exact there.
struct Turn {
  double cos, sin;
};

constexpr Turn TurnOf(int k, int n) {
  k %= n;
  if (8 * k > 4 * n) {
    const Turn t = TurnOf(n - k, n);
    return {t.cos, -t.sin};
  }
  if (8 * k > 2 * n) {  // k / n - 1 / 4
    const Turn t = TurnOf(4 * k - n, 4 * n);
    return {-t.sin, t.cos};
  }
  if (8 * k > n) {  // 1 / 4 - k / n
    const Turn t = TurnOf(n - 4 * k, 4 * n);
    return {t.sin, t.cos};
  }
  const long double x = 2 * std::numbers::pi_v<long double> * k / n;
  long double cos = 0, sin = 0, term = 1;
  for (int i = 0; i < 28; ++i) {
    const long double signed_term = i % 4 < 2 ? term : -term;
    (i % 2 == 0 ? cos : sin) += signed_term;
    term *= x / (i + 1);
  }
  return {static_cast<double>(cos), static_cast<double>(sin)};
}

template <typename T, int kPoints>
struct Dft;

// f(0), f(1), ... with numbers that are known when compiling.
template <int n, typename F>
[[gnu::always_inline]] inline void Repeat(const F& f) {
  [&]<int... i>(std::integer_sequence<int, i...>)
      __attribute__((always_inline)) {
    (f(std::integral_constant<int, i>{}), ...);
  }
  (std::make_integer_sequence<int, n>{});
}

template <typename T>
struct Dft<T, 1> {
  using V = typename VectorOf<T>::Type;
  [[gnu::always_inline]] static void Run(V*, V*) {}
};

template <typename T>
struct Dft<T, 2> {
  using V = typename VectorOf<T>::Type;
  [[gnu::always_inline]] static void Run(V* re, V* im) {
    const V r = re[0] - re[1], i = im[0] - im[1];
    re[0] += re[1];
    im[0] += im[1];
    re[1] = r;
    im[1] = i;
  }
};

template <typename T>
struct Dft<T, 4> {
  using V = typename VectorOf<T>::Type;
  [[gnu::always_inline]] static void Run(V* re, V* im) {
    const V ar = re[0] + re[2], ai = im[0] + im[2];
    const V br = re[0] - re[2], bi = im[0] - im[2];
    const V cr = re[1] + re[3], ci = im[1] + im[3];
    const V dr = re[1] - re[3], di = im[1] - im[3];
    re[0] = ar + cr;
    im[0] = ai + ci;
    re[1] = br + di;
    im[1] = bi - dr;
    re[2] = ar - cr;
    im[2] = ai - ci;
    re[3] = br - di;
    im[3] = bi + dr;
  }
};

// Of sums and differences of the points j and p - j the results k and p - k are
// sums and differences.
template <typename T, int p>
struct OddPrimeDft {
  using V = typename VectorOf<T>::Type;
  [[gnu::always_inline]] static void Run(V* re, V* im) {
    constexpr int h = (p - 1) / 2;
    V sr[h], si[h], dr[h], di[h];
    const V r0 = re[0], i0 = im[0];
    V r = r0, i = i0;
    Repeat<h>([&](auto j) __attribute__((always_inline)) {
      sr[j] = re[j + 1] + re[p - 1 - j];
      si[j] = im[j + 1] + im[p - 1 - j];
      dr[j] = re[j + 1] - re[p - 1 - j];
      di[j] = im[j + 1] - im[p - 1 - j];
      r += sr[j];
      i += si[j];
    });
    re[0] = r;
    im[0] = i;
    Repeat<h>([&](auto k) __attribute__((always_inline)) {
      V ar = r0, ai = i0, br, bi;
      Repeat<h>([&](auto j) __attribute__((always_inline)) {
        constexpr Turn turn = TurnOf((j + 1) * (k + 1), p);
        constexpr T c = static_cast<T>(turn.cos), s = static_cast<T>(turn.sin);
        ar += sr[j] * c;
        ai += si[j] * c;
        if constexpr (j == 0) {
          br = dr[j] * s;
          bi = di[j] * s;
        } else {
          br += dr[j] * s;
          bi += di[j] * s;
        }
      });
      re[k + 1] = ar + bi;
      im[k + 1] = ai - br;
      re[p - 1 - k] = ar - bi;
      im[p - 1 - k] = ai + br;
    });
  }
};

template <typename T>
struct Dft<T, 3> : OddPrimeDft<T, 3> {};
template <typename T>
struct Dft<T, 5> : OddPrimeDft<T, 5> {};
template <typename T>
struct Dft<T, 7> : OddPrimeDft<T, 7> {};
template <typename T>
struct Dft<T, 11> : OddPrimeDft<T, 11> {};
template <typename T>
struct Dft<T, 13> : OddPrimeDft<T, 13> {};

// r += i -= by exp(-2 pi i k / n).
template <typename T, int k, int n>
[[gnu::always_inline]] inline void TurnBy(typename VectorOf<T>::Type& re,
                                          typename VectorOf<T>::Type& im) {
  using V = typename VectorOf<T>::Type;
  constexpr Turn turn = TurnOf(k, n);
  constexpr T c = static_cast<T>(turn.cos), s = static_cast<T>(turn.sin);
  if constexpr (k % n == 0) {
    return;
  } else if constexpr (4 * k == n) {
    const V r = im;
    im = -re;
    re = r;
  } else if constexpr (8 * k == n) {
    const V r = (re + im) * c;
    im = (im - re) * c;
    re = r;
  } else if constexpr (8 * k == 3 * n) {
    const V r = (im - re) * s;
    im = (re + im) * -s;
    re = r;
  } else {
    const V r = re * c + im * s;
    im = im * c - re * s;
    re = r;
  }
}

// n = p q: transforms of p, turned, and of q.
template <typename T, int p, int q>
struct ProductDft {
  using V = typename VectorOf<T>::Type;
  [[gnu::always_inline]] static void Run(V* re, V* im) {
    V yr[q][p], yi[q][p];
    Repeat<q>([&](auto j) __attribute__((always_inline)) {
      Repeat<p>([&](auto k) __attribute__((always_inline)) {
        yr[j][k] = re[k * q + j];
        yi[j][k] = im[k * q + j];
      });
      Dft<T, p>::Run(yr[j], yi[j]);
      Repeat<p>([&](auto k) __attribute__((always_inline)) {
        TurnBy<T, j * k, p * q>(yr[j][k], yi[j][k]);
      });
    });
    Repeat<p>([&](auto k) __attribute__((always_inline)) {
      V zr[q], zi[q];
      Repeat<q>([&](auto j) __attribute__((always_inline)) {
        zr[j] = yr[j][k];
        zi[j] = yi[j][k];
      });
      Dft<T, q>::Run(zr, zi);
      Repeat<q>([&](auto j) __attribute__((always_inline)) {
        re[k + p * j] = zr[j];
        im[k + p * j] = zi[j];
      });
    });
  }
};

template <typename T>
struct Dft<T, 6> : ProductDft<T, 2, 3> {};
template <typename T>
struct Dft<T, 8> : ProductDft<T, 2, 4> {};
template <typename T>
struct Dft<T, 9> : ProductDft<T, 3, 3> {};
template <typename T>
struct Dft<T, 10> : ProductDft<T, 2, 5> {};
template <typename T>
struct Dft<T, 12> : ProductDft<T, 4, 3> {};
template <typename T>
struct Dft<T, 15> : ProductDft<T, 3, 5> {};
template <typename T>
struct Dft<T, 16> : ProductDft<T, 4, 4> {};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_FFT_BUTTERFLIES_H_
