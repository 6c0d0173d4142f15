// What blocked algorithms on matrices are made of: the product that updates the
// rest of a matrix, and the triangular system of a block. For sources that are
// compiled once for each instruction set.
#ifndef PROA_OPS_LINALG_BLOCK_PRODUCTS_H_
#define PROA_OPS_LINALG_BLOCK_PRODUCTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/linalg/factor_loops.h"
#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA::blocks {

// Columns of C that stay in registers: two vectors.
template <typename T>
inline constexpr int64_t kStrip = 2 * VectorOf<T>::kLanes;
// Rows of them.
inline constexpr int kRows = kVectorBytes == 64 ? 8 : 4;
// Terms of sums at a time, so that a packed strip of B stays in the L1 cache.
inline constexpr int64_t kDepth = 128;

template <typename T>
struct Operand {
  const T* data;
  int64_t row, column;
  const T* At(int64_t i, int64_t j) const {
    return data + i * row + j * column;
  }
};

// to[0, n) = from[0, n), of some elements: a loop for which the compiler takes
// no string instruction, whose start is as long as all the rest.
template <typename T>
inline void CopyShort(const T* from, int64_t n, T* to) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = from[i];
    asm("" ::: "memory");
  }
}

// c[R, kStrip] -= a[R, k] b[k, kStrip]; rows of b follow each other.
template <typename T, int R>
inline void SubtractTile(const Operand<T>& a, const T* b, int64_t k, T* c,
                         int64_t c_row) {
  using V = VectorOf<T>;
  using Vector = typename V::Type;
  Vector sums[R][2] = {};
  const T* from = a.data;
  for (int64_t p = 0; p < k; ++p, from += a.column, b += kStrip<T>) {
    const Vector b0 = V::Load(b), b1 = V::Load(b + V::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vector f = from[r * a.row] - Vector{};
      sums[r][0] = V::MultiplyAdd(f, b0, sums[r][0]);
      sums[r][1] = V::MultiplyAdd(f, b1, sums[r][1]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    T* const to = c + r * c_row;
    V::Store(to, V::Load(to) - sums[r][0]);
    V::Store(to + V::kLanes, V::Load(to + V::kLanes) - sums[r][1]);
  }
}

// The same of `m` rows: tiles of R of them, then smaller ones.
template <typename T, int R = kRows>
void SubtractStrip(int64_t m, Operand<T> a, const T* b, int64_t k, T* c,
                   int64_t c_row) {
  for (; m >= R; m -= R, a.data += R * a.row, c += R * c_row)
    SubtractTile<T, R>(a, b, k, c, c_row);
  if constexpr (R > 1) {
    if (m > 0) SubtractStrip<T, R / 2>(m, a, b, k, c, c_row);
  }
}

// c[m, n] -= a[m, k] b[k, n]; if `upper`, of c the upper triangle and some of
// the rest. Rows of b and c are dense.
template <typename T>
void Subtract(int64_t m, int64_t n, int64_t k, const Operand<T>& a, const T* b,
              int64_t b_row, T* c, int64_t c_row, bool upper = false) {
  constexpr int64_t kWide = kStrip<T>;
  alignas(kVectorBytes) T packed[kWide * kDepth];
  std::vector<T> edge;
  for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
    const int64_t depth = std::min(kDepth, k - p0);
    for (int64_t j = 0; j < n; j += kWide) {
      const int64_t width = std::min(kWide, n - j);
      const int64_t high = upper ? std::min(m, j + width) : m;
      for (int64_t p = 0; p < depth; ++p) {
        T* const to = packed + p * kWide;
        const T* const from = b + (p0 + p) * b_row + j;
        if (width == kWide) {
          std::copy_n(from, kWide, to);
        } else {
          std::fill(std::copy_n(from, width, to), to + kWide, T(0));
        }
      }
      const Operand<T> of_a{a.At(0, p0), a.row, a.column};
      if (width == kWide) {
        SubtractStrip<T>(high, of_a, packed, depth, c + j, c_row);
        continue;
      }
      // All rows, since what was just stored is slow to load as vectors.
      edge.resize(high * kWide);
      for (int64_t i = 0; i < high; ++i)
        CopyShort(c + i * c_row + j, width, edge.data() + i * kWide);
      SubtractStrip<T>(high, of_a, packed, depth, edge.data(), kWide);
      for (int64_t i = 0; i < high; ++i)
        CopyShort(edge.data() + i * kWide, width, c + i * c_row + j);
    }
  }
}

// x[n, kStrip] = t^-1 x, of a block: rows in the order in which they follow
// from each other.
template <typename T>
inline void SolveStrip(const Triangle<T>& t, int64_t n, T* x, int64_t x_row) {
  using V = VectorOf<T>;
  using Vector = typename V::Type;
  constexpr int kGroup = 4;
  const auto row_of = [&](int64_t i) { return t.upper ? n - 1 - i : i; };
  const auto at = [&](int64_t i, int64_t j) {
    return t.data[row_of(i) * t.row + row_of(j) * t.column];
  };
  for (int64_t first = 0; first < n; first += kGroup) {
    const int64_t rows = std::min<int64_t>(kGroup, n - first);
    Vector sums[kGroup][2] = {};
    // What those before have to do with these, four rows at once.
    if (rows == kGroup) {
      for (int64_t p = 0; p < first; ++p) {
        const T* const from = x + row_of(p) * x_row;
        const Vector x0 = V::Load(from), x1 = V::Load(from + V::kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < kGroup; ++r) {
          const Vector f = at(first + r, p) - Vector{};
          sums[r][0] = V::MultiplyAdd(f, x0, sums[r][0]);
          sums[r][1] = V::MultiplyAdd(f, x1, sums[r][1]);
        }
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      T* const to = x + row_of(first + r) * x_row;
      Vector x0 = V::Load(to) - sums[r][0];
      Vector x1 = V::Load(to + V::kLanes) - sums[r][1];
      for (int64_t p = rows == kGroup ? first : 0; p < first + r; ++p) {
        const T* const from = x + row_of(p) * x_row;
        const Vector f = at(first + r, p) - Vector{};
        x0 -= f * V::Load(from);
        x1 -= f * V::Load(from + V::kLanes);
      }
      if (!t.unit) {
        const Vector pivot = at(first + r, first + r) - Vector{};
        x0 /= pivot;
        x1 /= pivot;
      }
      V::Store(to, x0);
      V::Store(to + V::kLanes, x1);
    }
  }
}

// x[n, k] = t^-1 x, of a block, rows of x dense.
template <typename T>
void SolveBlock(const Triangle<T>& t, int64_t n, T* x, int64_t x_row,
                int64_t k) {
  constexpr int64_t kWide = kStrip<T>;
  int64_t j = 0;
  for (; j + kWide <= k; j += kWide) SolveStrip(t, n, x + j, x_row);
  if (j == k) return;
  std::vector<T> edge(n * kWide);
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(x + i * x_row + j, k - j, edge.data() + i * kWide);
  SolveStrip(t, n, edge.data(), kWide);
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(edge.data() + i * kWide, k - j, x + i * x_row + j);
}

}  // namespace proa::inline v0::ops::PROA_ISA::blocks

#endif  // PROA_OPS_LINALG_BLOCK_PRODUCTS_H_
