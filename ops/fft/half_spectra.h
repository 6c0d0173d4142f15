// Real signals of an even length as complex ones of half of it, and products of
// lines (column_loops.h).
#ifndef PROA_OPS_FFT_HALF_SPECTRA_H_
#define PROA_OPS_FFT_HALF_SPECTRA_H_

#include <cstdint>

#include "ops/fft/column_moves.h"
#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {

// Even and odd elements are the parts of the pairs; their transforms E and O
// are taken apart, and X_k = E_k + w^k O_k. N is a number or a vector.
template <typename N>
[[gnu::always_inline]] inline void SplitPair(N& ar, N& ai, N& br, N& bi, N c,
                                             N s) {
  const N even_r = (ar + br) / 2, even_i = (ai - bi) / 2;
  const N odd_r = (ai + bi) / 2, odd_i = (br - ar) / 2;
  const N turned_r = odd_r * c - odd_i * s, turned_i = odd_i * c + odd_r * s;
  ar = even_r + turned_r;
  ai = even_i + turned_i;
  br = even_r - turned_r;
  bi = turned_i - even_i;
}

// Of X_k and X_{m - k}: the pairs k and m - k, for a backward transform.
template <typename N>
[[gnu::always_inline]] inline void JoinPair(N& ar, N& ai, N& br, N& bi, N c,
                                            N s) {
  const N even_r = ar + br, even_i = ai - bi;
  const N dr = ar - br, di = ai + bi;
  const N odd_r = dr * c + di * s, odd_i = di * c - dr * s;
  ar = even_r - odd_i;
  ai = even_i + odd_r;
  br = even_r + odd_i;
  bi = odd_r - even_i;
}

template <typename T>
void SplitRows(const T* from, int64_t m, const T* turns, T sign, T* to) {
  using V = VectorOf<T>;
  using N = typename V::Type;
  constexpr int64_t kLanes = V::kLanes, kRow = 2 * kLanes;
  const N first = V::Load(from), second = V::Load(from + kLanes);
  V::Store(to, first + second);
  V::Store(to + kLanes, N{});
  V::Store(to + m * kRow, first - second);
  V::Store(to + m * kRow + kLanes, N{});
  for (int64_t k = 1; 2 * k <= m; ++k) {
    const T *const a = from + k * kRow, *const b = from + (m - k) * kRow;
    N ar = V::Load(a), ai = V::Load(a + kLanes);
    N br = V::Load(b), bi = V::Load(b + kLanes);
    SplitPair(ar, ai, br, bi, N{} + turns[2 * k], N{} + turns[2 * k + 1]);
    T *const x = to + k * kRow, *const y = to + (m - k) * kRow;
    V::Store(y, br);
    V::Store(y + kLanes, bi * sign);
    V::Store(x, ar);
    V::Store(x + kLanes, ai * sign);
  }
}

template <typename T>
void JoinRows(const T* from, int64_t m, const T* turns, T sign, T* to) {
  using V = VectorOf<T>;
  using N = typename V::Type;
  constexpr int64_t kLanes = V::kLanes, kRow = 2 * kLanes;
  const N first = V::Load(from), last = V::Load(from + m * kRow);
  V::Store(to + kLanes, first + last);
  V::Store(to, first - last);
  for (int64_t k = 1; 2 * k <= m; ++k) {
    const T *const a = from + k * kRow, *const b = from + (m - k) * kRow;
    N ar = V::Load(a), ai = V::Load(a + kLanes) * sign;
    N br = V::Load(b), bi = V::Load(b + kLanes) * sign;
    JoinPair(ar, ai, br, bi, N{} + turns[2 * k], N{} + turns[2 * k + 1]);
    T *const x = to + k * kRow, *const y = to + (m - k) * kRow;
    V::Store(y + kLanes, br);
    V::Store(y, bi);
    V::Store(x + kLanes, ar);
    V::Store(x, ai);
  }
}

template <typename T>
void MirrorRows(T* rows, int64_t n, bool swap) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes, kRow = 2 * kLanes;
  const int64_t re = swap ? kLanes : 0, im = swap ? 0 : kLanes;
  V::Store(rows + im, typename V::Type{});
  for (int64_t k = 1; k <= n / 2; ++k) {
    const T* const from = rows + k * kRow;
    T* const to = rows + (n - k) * kRow;
    V::Store(to + re, V::Load(from + re));
    V::Store(to + im, -V::Load(from + im));
  }
}

template <typename T, int... c>
[[gnu::always_inline]] inline typename VectorOf<T>::Type Reversed(
    typename VectorOf<T>::Type v, std::integer_sequence<int, c...>) {
  return __builtin_shufflevector(v, v, (VectorOf<T>::kLanes - 1 - c)...);
}

// kLanes complex numbers, in parts; in reversed order if `reverse`.
template <typename T, bool reverse>
[[gnu::always_inline]] inline void LoadParts(const T* from,
                                             typename VectorOf<T>::Type& re,
                                             typename VectorOf<T>::Type& im) {
  re = VectorOf<T>::Load(from);
  im = VectorOf<T>::Load(from + VectorOf<T>::kLanes);
  TakeApart<T>(re, im, kAllLanes<T>);
  if constexpr (reverse) {
    re = Reversed<T>(re, kAllLanes<T>);
    im = Reversed<T>(im, kAllLanes<T>);
  }
}

template <typename T, bool reverse>
[[gnu::always_inline]] inline void StoreParts(T* to,
                                              typename VectorOf<T>::Type re,
                                              typename VectorOf<T>::Type im) {
  if constexpr (reverse) {
    re = Reversed<T>(re, kAllLanes<T>);
    im = Reversed<T>(im, kAllLanes<T>);
  }
  PutTogether<T>(re, im, kAllLanes<T>);
  VectorOf<T>::Store(to, re);
  VectorOf<T>::Store(to + VectorOf<T>::kLanes, im);
}

template <typename T>
void SplitLine(T* line, int64_t m, const T* turns, T sign, T factor) {
  using V = VectorOf<T>;
  using N = typename V::Type;
  constexpr int64_t kLanes = V::kLanes;
  const T first = line[0], second = line[1];
  line[0] = (first + second) * factor;
  line[1] = 0;
  line[2 * m] = (first - second) * factor;
  line[2 * m + 1] = 0;
  int64_t k = 1;
  const T im_factor = sign * factor;
  for (; 2 * (k + kLanes) <= m; k += kLanes) {
    T *const a = line + 2 * k, *const b = line + 2 * (m - k - kLanes + 1);
    N ar, ai, br, bi, c, s;
    LoadParts<T, false>(a, ar, ai);
    LoadParts<T, true>(b, br, bi);
    LoadParts<T, false>(turns + 2 * k, c, s);
    SplitPair(ar, ai, br, bi, c, s);
    StoreParts<T, false>(a, ar * factor, ai * im_factor);
    StoreParts<T, true>(b, br * factor, bi * im_factor);
  }
  for (; 2 * k <= m; ++k) {
    T *const a = line + 2 * k, *const b = line + 2 * (m - k);
    T ar = a[0], ai = a[1], br = b[0], bi = b[1];
    SplitPair(ar, ai, br, bi, turns[2 * k], turns[2 * k + 1]);
    b[0] = br * factor;
    b[1] = bi * im_factor;
    a[0] = ar * factor;
    a[1] = ai * im_factor;
  }
}

template <typename T>
void JoinLine(const T* from, int64_t m, const T* turns, T sign, T* to) {
  using V = VectorOf<T>;
  using N = typename V::Type;
  constexpr int64_t kLanes = V::kLanes;
  to[0] = from[0] + from[2 * m];
  to[1] = from[0] - from[2 * m];
  int64_t k = 1;
  for (; 2 * (k + kLanes) <= m; k += kLanes) {
    const int64_t other = 2 * (m - k - kLanes + 1);
    N ar, ai, br, bi, c, s;
    LoadParts<T, false>(from + 2 * k, ar, ai);
    LoadParts<T, true>(from + other, br, bi);
    LoadParts<T, false>(turns + 2 * k, c, s);
    JoinPair(ar, ai *= sign, br, bi *= sign, c, s);
    StoreParts<T, false>(to + 2 * k, ar, ai);
    StoreParts<T, true>(to + other, br, bi);
  }
  for (; 2 * k <= m; ++k) {
    const T *const a = from + 2 * k, *const b = from + 2 * (m - k);
    T ar = a[0], ai = a[1] * sign, br = b[0], bi = b[1] * sign;
    JoinPair(ar, ai, br, bi, turns[2 * k], turns[2 * k + 1]);
    to[2 * (m - k)] = br;
    to[2 * (m - k) + 1] = bi;
    to[2 * k] = ar;
    to[2 * k + 1] = ai;
  }
}

template <typename T>
void Multiply(const T* a, const T* b, int64_t n, T* to) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    typename V::Type ar, ai, br, bi;
    LoadParts<T, false>(a + 2 * k, ar, ai);
    LoadParts<T, false>(b + 2 * k, br, bi);
    StoreParts<T, false>(to + 2 * k, ar * br - ai * bi, ai * br + ar * bi);
  }
  for (; k < n; ++k) {
    const T ar = a[2 * k], ai = a[2 * k + 1], br = b[2 * k], bi = b[2 * k + 1];
    to[2 * k] = ar * br - ai * bi;
    to[2 * k + 1] = ai * br + ar * bi;
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_FFT_HALF_SPECTRA_H_
