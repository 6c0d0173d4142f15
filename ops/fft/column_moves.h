// Between tensors and rows (column_loops.h): columns that lie side by side, and
// lines that squares in registers transpose.
#ifndef PROA_OPS_FFT_COLUMN_MOVES_H_
#define PROA_OPS_FFT_COLUMN_MOVES_H_

#include <cstdint>
#include <cstring>
#include <utility>

#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {

template <typename T>
inline constexpr auto kAllLanes =
    std::make_integer_sequence<int, VectorOf<T>::kLanes>{};

// Real and imaginary parts of complex numbers one after the other, and back.
template <typename T, int... c>
[[gnu::always_inline]] inline void TakeApart(typename VectorOf<T>::Type& a,
                                             typename VectorOf<T>::Type& b,
                                             std::integer_sequence<int, c...>) {
  const auto re = __builtin_shufflevector(a, b, (2 * c)...);
  b = __builtin_shufflevector(a, b, (2 * c + 1)...);
  a = re;
}

template <typename T, int... c>
[[gnu::always_inline]] inline void PutTogether(
    typename VectorOf<T>::Type& a, typename VectorOf<T>::Type& b,
    std::integer_sequence<int, c...>) {
  constexpr int n = VectorOf<T>::kLanes;
  const auto first =
      __builtin_shufflevector(a, b, (c % 2 == 0 ? c / 2 : n + c / 2)...);
  b = __builtin_shufflevector(a, b,
                              (c % 2 == 0 ? (n + c) / 2 : n + (n + c) / 2)...);
  a = first;
}

// Of four (or two) vectors' pairs of rows `step` apart, squares of `step`
// elements change places.
template <typename T, int step, int... c>
[[gnu::always_inline]] inline void SwapSquares(
    typename VectorOf<T>::Type& high, typename VectorOf<T>::Type& low,
    std::integer_sequence<int, c...>) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  const auto top = __builtin_shufflevector(
      high, low, ((c & step) != 0 ? kLanes + c - step : c)...);
  low = __builtin_shufflevector(high, low,
                                ((c & step) != 0 ? kLanes + c : c + step)...);
  high = top;
}

// 16 bytes from each of some addresses, which are `step` of them apart.
template <typename T>
[[gnu::always_inline]] inline typename VectorOf<T>::Type LoadPieces(
    const T* const* from, [[maybe_unused]] int step, int64_t at) {
#if defined(__AVX512F__)
  const auto piece = [&](int i) __attribute__((always_inline)) {
    return _mm_loadu_ps(reinterpret_cast<const float*>(from[i * step] + at));
  };
  __m512 v = _mm512_castps128_ps512(piece(0));
  v = _mm512_insertf32x4(v, piece(1), 1);
  v = _mm512_insertf32x4(v, piece(2), 2);
  v = _mm512_insertf32x4(v, piece(3), 3);
  return reinterpret_cast<typename VectorOf<T>::Type>(v);
#elif defined(__AVX2__)
  const auto piece = [&](int i) __attribute__((always_inline)) {
    return _mm_loadu_ps(reinterpret_cast<const float*>(from[i * step] + at));
  };
  return reinterpret_cast<typename VectorOf<T>::Type>(
      _mm256_insertf128_ps(_mm256_castps128_ps256(piece(0)), piece(1), 1));
#else
  return VectorOf<T>::Load(from[0] + at);
#endif
}

// Rows i < 16 / sizeof(T) of LoadPieces of lines i, i + step, ...: the squares
// in them change places.
template <typename T>
[[gnu::always_inline]] inline void TransposePieces(
    typename VectorOf<T>::Type* rows) {
  constexpr int kPiece = 16 / static_cast<int>(sizeof(T));
#pragma GCC unroll 4
  for (int i = 0; i < kPiece; i += 2)
    SwapSquares<T, 1>(rows[i], rows[i + 1], kAllLanes<T>);
  if constexpr (kPiece == 4) {
    SwapSquares<T, 2>(rows[0], rows[2], kAllLanes<T>);
    SwapSquares<T, 2>(rows[1], rows[3], kAllLanes<T>);
  }
}

// rows[c], lane l = line(l)[c]: pieces of 16 bytes are put together by their
// loads, which spares half of the exchanges in registers. Each line is read at
// once, since there are too few registers for the addresses of all.
template <typename T, typename Line>
[[gnu::always_inline]] inline void TransposeSquare(
    const Line& line, typename VectorOf<T>::Type* rows) {
  constexpr int kLanes = VectorOf<T>::kLanes;
  constexpr int kPiece = 16 / static_cast<int>(sizeof(T));
#pragma GCC unroll 4
  for (int i = 0; i < kPiece; ++i) {
    const T* pieces[kLanes / kPiece];
#pragma GCC unroll 4
    for (int g = 0; g < kLanes / kPiece; ++g) pieces[g] = line(i + g * kPiece);
#pragma GCC unroll 8
    for (int c = 0; c < kLanes; c += kPiece)
      rows[c + i] = LoadPieces(pieces, 1, c);
  }
#pragma GCC unroll 8
  for (int c = 0; c < kLanes; c += kPiece) TransposePieces<T>(rows + c);
}

template <typename T>
void LoadColumns(const T* from, int64_t row, int64_t n, int64_t count,
                 bool swap, T* to) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  T* const re = to + (swap ? kLanes : 0);
  T* const im = to + (swap ? 0 : kLanes);
  alignas(64) T part[2 * kLanes] = {};
  for (int64_t k = 0; k < n; ++k) {
    const T* at = from + k * row;
    if (count < kLanes) {
      std::memcpy(part, at, 2 * count * sizeof(T));
      at = part;
    }
    auto a = V::Load(at), b = V::Load(at + kLanes);
    TakeApart<T>(a, b, kAllLanes<T>);
    V::Store(re + k * 2 * kLanes, a);
    V::Store(im + k * 2 * kLanes, b);
  }
}

template <typename T>
void StoreColumns(const T* from, int64_t n, int64_t count, bool swap, T factor,
                  T* to, int64_t row) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  const T* const re = from + (swap ? kLanes : 0);
  const T* const im = from + (swap ? 0 : kLanes);
  alignas(64) T part[2 * kLanes];
  for (int64_t k = 0; k < n; ++k) {
    auto a = V::Load(re + k * 2 * kLanes) * factor;
    auto b = V::Load(im + k * 2 * kLanes) * factor;
    PutTogether<T>(a, b, kAllLanes<T>);
    T* const at = count < kLanes ? part : to + k * row;
    V::Store(at, a);
    V::Store(at + kLanes, b);
    if (count < kLanes) std::memcpy(to + k * row, part, 2 * count * sizeof(T));
  }
}

template <typename T>
void LoadRealColumns(const T* from, int64_t row, int64_t n, int64_t count,
                     bool pairs, bool swap, T* to) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  T* const re = to + (swap ? kLanes : 0);
  T* const im = to + (swap ? 0 : kLanes);
  alignas(64) T part[kLanes] = {};
  const auto load = [&](int64_t k) {
    if (count >= kLanes) return V::Load(from + k * row);
    std::memcpy(part, from + k * row, count * sizeof(T));
    return V::Load(part);
  };
  for (int64_t k = 0; k < n; ++k) {
    V::Store(re + k * 2 * kLanes, load(pairs ? 2 * k : k));
    V::Store(im + k * 2 * kLanes, pairs ? load(2 * k + 1) : typename V::Type{});
  }
}

template <typename T>
void StoreRealColumns(const T* from, int64_t n, int64_t count, bool pairs,
                      bool swap, T factor, T* to, int64_t row) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  const T* const re = from + (swap ? kLanes : 0);
  const T* const im = from + (swap ? 0 : kLanes);
  alignas(64) T part[kLanes];
  const auto store = [&](int64_t k, const T* numbers) {
    const auto v = V::Load(numbers) * factor;
    if (count >= kLanes) return V::Store(to + k * row, v);
    V::Store(part, v);
    std::memcpy(to + k * row, part, count * sizeof(T));
  };
  for (int64_t k = 0; k < n; ++k) {
    store(pairs ? 2 * k : k, re + k * 2 * kLanes);
    if (pairs) store(2 * k + 1, im + k * 2 * kLanes);
  }
}

// A square of kLanes numbers of each of kLanes lines, `from[l] + at`, to rows
// of numbers: number c of all lines to row(c), for c < count.
template <typename T, typename Row>
[[gnu::always_inline]] inline void LoadSquare(const T* const* from, int64_t at,
                                              int64_t count, const Row& row) {
  using V = VectorOf<T>;
  typename V::Type rows[V::kLanes];
  TransposeSquare<T>(
      [&](int l) __attribute__((always_inline)) { return from[l] + at; }, rows);
#pragma GCC unroll 16
  for (int c = 0; c < V::kLanes; ++c) {
    if (c < count) V::Store(row(c), rows[c]);
  }
}

// Calls load(lines, k, number of the line, count) for squares of `numbers`
// numbers of each line. Those that are not whole are of copies of lines.
template <typename T, typename Square>
[[gnu::always_inline]] inline void EachLoad(const T* const* lines,
                                            int64_t numbers,
                                            const Square& load) {
  constexpr int64_t kLanes = VectorOf<T>::kLanes;
  int64_t k = 0;
  for (; k + kLanes <= numbers; k += kLanes) load(lines, k, k, kLanes);
  if (k == numbers) return;
  alignas(64) T copies[kLanes][kLanes] = {};
  const T* starts[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) {
    std::memcpy(copies[l], lines[l] + k, (numbers - k) * sizeof(T));
    starts[l] = copies[l];
  }
  load(starts, 0, k, numbers - k);
}

template <typename T>
void LoadLines(const T* const* lines, int64_t n, bool swap, T* to) {
  constexpr int64_t kLanes = VectorOf<T>::kLanes;
  EachLoad<T>(
      lines, 2 * n,
      [&](const T* const* from, int64_t at, int64_t k, int64_t count)
          __attribute__((always_inline)) {
            T* const square = to + k * kLanes;
            if (swap) {
              LoadSquare<T>(
                  from, at, count, [&](int c) __attribute__((always_inline)) {
                    return square + (c ^ 1) * kLanes;
                  });
            } else {
              LoadSquare<T>(
                  from, at, count, [&](int c) __attribute__((always_inline)) {
                    return square + c * kLanes;
                  });
            }
          });
}

template <typename T>
void LoadRealLines(const T* const* lines, int64_t n, bool swap, T* to) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  T* const re = to + (swap ? kLanes : 0);
  T* const im = to + (swap ? 0 : kLanes);
  EachLoad<T>(
      lines, n,
      [&](const T* const* from, int64_t at, int64_t k, int64_t count)
          __attribute__((always_inline)) {
            LoadSquare<T>(
                from, at, count, [&](int c) __attribute__((always_inline)) {
                  return re + (k + c) * 2 * kLanes;
                });
          });
  for (int64_t k = 0; k < n; ++k)
    V::Store(im + k * 2 * kLanes, typename V::Type{});
}

// The way back of EachLoad and LoadSquare: numbers c of all lines from row(k,
// c), times `factor`.
template <typename T, typename Row>
[[gnu::always_inline]] inline void EachStore(int64_t numbers, T factor,
                                             T* const* lines, const Row& row) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  typename V::Type rows[kLanes];
  int64_t k = 0;
  for (; k + kLanes <= numbers; k += kLanes) {
    TransposeSquare<T>(
        [&](int c) __attribute__((always_inline)) { return row(k, c); }, rows);
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l) V::Store(lines[l] + k, rows[l] * factor);
  }
  for (int64_t c = 0; k + c < numbers; ++c) {
    const T* const from = row(k, c);
    for (int64_t l = 0; l < kLanes; ++l) lines[l][k + c] = from[l] * factor;
  }
}

template <typename T>
void StoreLines(const T* from, int64_t n, bool swap, T factor,
                T* const* lines) {
  constexpr int64_t kLanes = VectorOf<T>::kLanes;
  if (swap) {
    EachStore<T>(
        2 * n, factor,
        lines, [&](int64_t k, int64_t c) __attribute__((always_inline)) {
          return from + k * kLanes + (c ^ 1) * kLanes;
        });
  } else {
    EachStore<T>(
        2 * n, factor,
        lines, [&](int64_t k, int64_t c) __attribute__((always_inline)) {
          return from + k * kLanes + c * kLanes;
        });
  }
}

template <typename T>
void StoreRealLines(const T* from, int64_t n, bool swap, T factor,
                    T* const* lines) {
  constexpr int64_t kLanes = VectorOf<T>::kLanes;
  const T* const re = from + (swap ? kLanes : 0);
  EachStore<T>(
      n, factor,
      lines, [&](int64_t k, int64_t c) __attribute__((always_inline)) {
        return re + k * 2 * kLanes + c * 2 * kLanes;
      });
}

template <typename T>
void Transpose(const T* const* starts, int64_t columns, T* to, int64_t row) {
  using V = VectorOf<T>;
  constexpr int kLanes = V::kLanes;
  constexpr int kPiece = 16 / static_cast<int>(sizeof(T));
  for (int64_t c = 0; c < columns; c += kPiece) {
#pragma GCC unroll 2
    for (int part = 0; part < 2; ++part) {
      typename V::Type rows[kPiece];
#pragma GCC unroll 4
      for (int i = 0; i < kPiece; ++i)
        rows[i] = LoadPieces(starts + i, kPiece, c + part * kLanes);
      TransposePieces<T>(rows);
#pragma GCC unroll 4
      for (int i = 0; i < kPiece; ++i)
        V::Store(to + (c + i) * row + part * kLanes, rows[i]);
    }
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_FFT_COLUMN_MOVES_H_
