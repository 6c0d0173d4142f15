// Products of column-major matrices of any of the four types (blas_loops.h).
// For sources that are compiled once for each instruction set.
#ifndef PROA_OPS_LINALG_BLAS_PRODUCTS_H_
#define PROA_OPS_LINALG_BLAS_PRODUCTS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ops/linalg/blas_loops.h"
#include "ops/linalg/number_parts.h"

namespace proa::inline v0::ops::PROA_ISA::blas {

// A tile of c that stays in registers, of kVectors times the lanes of a vector
// rows and kColumns columns. Of complex numbers real and imaginary parts are
// vectors of their own.
template <typename T>
struct TileOf {
  using R = typename PartsOf<T>::Real;
  static constexpr int kParts = PartsOf<T>::kCount;
  static constexpr int kVectors = kVectorBytes == 64 ? 4 - kParts
                                  : kVectorBytes == 32
                                      ? 4 - kParts - (kParts - 1)
                                      : 3 - kParts;
  static constexpr int kColumns = kVectorBytes == 64 && kParts == 1 ? 8 : 4;
  static constexpr int kLanes = Parts<R>::kLanes;
  static constexpr int64_t kRows = kVectors * kLanes;
};

// Terms of sums at a time: a strip of b of these and kColumns stays in the L1
// cache; and rows of a and columns of b at a time.
inline constexpr int64_t kDepth = 256, kHeight = 96, kWidth = 512;

// Memory for a while, not initialized; on the stack where it is little.
template <typename R>
class Scratch {
 public:
  explicit Scratch(int64_t count) {
    if (count > kNear) far_.reset(new R[count + kVectorBytes / sizeof(R)]);
  }
  R* data() {
    if (!far_) return near_;
    const auto at = reinterpret_cast<uintptr_t>(far_.get());
    return far_.get() + (-at & (kVectorBytes - 1)) / sizeof(R);
  }

 private:
  static constexpr int64_t kNear = 8192 / sizeof(R);
  alignas(kVectorBytes) R near_[kNear];
  std::unique_ptr<R[]> far_;
};

// Rows [0, rows) of kRows of form(a), of `depth` columns; zeros below.
template <typename T>
void PackRows(Form form, int64_t rows, int64_t depth, const T* a, int64_t lda,
              typename PartsOf<T>::Real* to) {
  using Tile = TileOf<T>;
  constexpr int64_t kStep = Tile::kRows * Tile::kParts;
  if (rows < Tile::kRows) std::fill_n(to, depth * kStep, 0);
  const bool conjugate = form == Form::kAdjoint;
  const auto put = [&](T x, int64_t i, int64_t p) {
    auto* const at = to + p * kStep +
                     i / Tile::kLanes * Tile::kLanes * Tile::kParts +
                     i % Tile::kLanes;
    at[0] = std::real(x);
    if constexpr (Tile::kParts == 2)
      at[Tile::kLanes] = conjugate ? -x.imag() : x.imag();
  };
  if (form != Form::kAsIs) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t p = 0; p < depth; ++p) put(a[p + i * lda], i, p);
  } else if (rows < Tile::kRows) {
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t i = 0; i < rows; ++i) put(a[i + p * lda], i, p);
  } else {
    for (int64_t p = 0; p < depth; ++p) {
      const T* const from = a + p * lda;
      auto* const at = to + p * kStep;
      if constexpr (Tile::kParts == 1) {
        std::copy_n(from, Tile::kRows, at);
      } else {
        for (int v = 0; v < Tile::kVectors; ++v) {
          for (int l = 0; l < Tile::kLanes; ++l) {
            at[2 * v * Tile::kLanes + l] = from[v * Tile::kLanes + l].real();
            at[(2 * v + 1) * Tile::kLanes + l] =
                from[v * Tile::kLanes + l].imag();
          }
        }
      }
    }
  }
}

// Columns [0, columns) of kColumns of form(b), of `depth` rows; zeros beside
// them.
template <typename T>
void PackColumns(Form form, int64_t depth, int64_t columns, const T* b,
                 int64_t ldb, typename PartsOf<T>::Real* to) {
  using Tile = TileOf<T>;
  constexpr int64_t kStep = Tile::kColumns * Tile::kParts;
  if (columns < Tile::kColumns) std::fill_n(to, depth * kStep, 0);
  const int64_t row = form == Form::kAsIs ? 1 : ldb;
  const int64_t column = form == Form::kAsIs ? ldb : 1;
  const bool conjugate = form == Form::kAdjoint;
  const auto pack = [&](int64_t width) {
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t j = 0; j < width; ++j) {
        const T x = b[p * row + j * column];
        auto* const at = to + p * kStep + j * Tile::kParts;
        at[0] = std::real(x);
        if constexpr (Tile::kParts == 2)
          at[1] = conjugate ? -x.imag() : x.imag();
      }
    }
  };
  columns == Tile::kColumns ? pack(Tile::kColumns) : pack(columns);
}

// The vectors of complex numbers whose parts are given.
template <typename R, size_t... I>
auto Interleave(typename Parts<R>::Type real, typename Parts<R>::Type imaginary,
                std::index_sequence<I...>) {
  constexpr int kLanes = Parts<R>::kLanes;
  return std::pair(
      __builtin_shufflevector(real, imaginary, (I / 2 + I % 2 * kLanes)...),
      __builtin_shufflevector(real, imaginary,
                              (kLanes / 2 + I / 2 + I % 2 * kLanes)...));
}

// c[rows, columns] (+)= alpha a b of packed a and b; what was there is added
// only if `add`.
template <typename T>
void MultiplyTile(int64_t depth, T alpha, const typename PartsOf<T>::Real* a,
                  const typename PartsOf<T>::Real* b, bool add, T* c,
                  int64_t ldc, int64_t rows, int64_t columns) {
  using Tile = TileOf<T>;
  using R = typename Tile::R;
  using P = Parts<R>;
  using Vector = typename P::Type;
  constexpr int kVectors = Tile::kVectors, kColumns = Tile::kColumns;
  constexpr int kParts = Tile::kParts, kLanes = Tile::kLanes;
  Vector sums[kColumns][kVectors][kParts] = {};
  for (int64_t p = 0; p < depth; ++p) {
    Vector from[kVectors][kParts];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
#pragma GCC unroll 2
      for (int e = 0; e < kParts; ++e)
        from[v][e] = P::Load(a + (v * kParts + e) * kLanes);
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      const Vector real = P::Fill(b[j * kParts]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sums[j][v][0] = P::MultiplyAdd(from[v][0], real, sums[j][v][0]);
      if constexpr (kParts == 2) {
        const Vector imaginary = P::Fill(b[j * kParts + 1]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sums[j][v][1] = P::MultiplyAdd(from[v][1], real, sums[j][v][1]);
          sums[j][v][0] = P::MultiplyAdd(-from[v][1], imaginary, sums[j][v][0]);
          sums[j][v][1] = P::MultiplyAdd(from[v][0], imaginary, sums[j][v][1]);
        }
      }
    }
    a += kVectors * kParts * kLanes;
    b += kColumns * kParts;
  }
  // As they lie in c, times alpha.
  if constexpr (kParts == 2) {
    const Vector real = P::Fill(alpha.real()),
                 imaginary = P::Fill(alpha.imag());
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Vector x = sums[j][v][0], y = sums[j][v][1];
        std::tie(sums[j][v][0], sums[j][v][1]) =
            Interleave<R>(real * x - imaginary * y, real * y + imaginary * x,
                          std::make_index_sequence<kLanes>());
      }
    }
  } else {
    const Vector factor = P::Fill(alpha);
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[j][v][0] *= factor;
  }
  constexpr int kAll = kVectors * kParts;
  if (rows == Tile::kRows && columns == kColumns) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      R* const to = reinterpret_cast<R*>(c + j * ldc);
#pragma GCC unroll 4
      for (int v = 0; v < kAll; ++v) {
        Vector x = sums[j][v / kParts][v % kParts];
        if (add) x += P::Load(to + v * kLanes);
        P::Store(to + v * kLanes, x);
      }
    }
    return;
  }
  alignas(kVectorBytes) R all[kColumns][kAll * kLanes];
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j)
#pragma GCC unroll 4
    for (int v = 0; v < kAll; ++v)
      P::Store(all[j] + v * kLanes, sums[j][v / kParts][v % kParts]);
  for (int64_t j = 0; j < columns; ++j) {
    R* const to = reinterpret_cast<R*>(c + j * ldc);
    ForParts<T>(rows, [&](int64_t i, auto load, auto store) {
      Vector x = P::Load(all[j] + i);
      if (add) x += load(to + i);
      store(to + i, x);
    });
  }
}

template <typename T>
void ScaleBy(T beta, int64_t m, int64_t n, T* c, int64_t ldc) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      T& x = c[i + j * ldc];
      x = beta == T(0) ? T(0) : Multiply(beta, x);
    }
  }
}

template <typename T>
const T* ElementOf(Form form, const T* a, int64_t lda, int64_t i, int64_t j) {
  return form == Form::kAsIs ? a + i + j * lda : a + j + i * lda;
}

template <typename T>
void Gemm(Form form_a, Form form_b, int64_t m, int64_t n, int64_t k, T alpha,
          const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* c,
          int64_t ldc) {
  using Tile = TileOf<T>;
  using R = typename Tile::R;
  if (m <= 0 || n <= 0) return;
  const bool empty = k <= 0 || alpha == T(0);
  if (beta != T(1) && (empty || beta != T(0))) ScaleBy(beta, m, n, c, ldc);
  if (empty) return;
  const auto up = [](int64_t count, int64_t step) {
    return (count + step - 1) / step * step;
  };
  constexpr int64_t kRows = Tile::kRows, kColumns = Tile::kColumns;
  constexpr int64_t kHigh = (kHeight + kRows - 1) / kRows * kRows;
  const int64_t deepest = std::min(k, kDepth);
  const int64_t of_a = up(std::min(m, kHigh), kRows) * deepest * Tile::kParts;
  const int64_t of_b =
      up(std::min(n, kWidth), kColumns) * deepest * Tile::kParts;
  Scratch<R> scratch(of_a + of_b);
  R *const rows = scratch.data(), *const columns = rows + of_a;
  for (int64_t p = 0; p < k; p += kDepth) {
    const int64_t depth = std::min(kDepth, k - p);
    const bool add = p > 0 || beta != T(0);
    for (int64_t j0 = 0; j0 < n; j0 += kWidth) {
      const int64_t width = std::min(kWidth, n - j0);
      for (int64_t j = 0; j < width; j += kColumns)
        PackColumns<T>(form_b, depth, std::min(kColumns, width - j),
                       ElementOf(form_b, b, ldb, p, j0 + j), ldb,
                       columns + j * depth * Tile::kParts);
      for (int64_t i0 = 0; i0 < m; i0 += kHigh) {
        const int64_t height = std::min(kHigh, m - i0);
        for (int64_t i = 0; i < height; i += kRows)
          PackRows<T>(form_a, std::min(kRows, height - i), depth,
                      ElementOf(form_a, a, lda, i0 + i, p), lda,
                      rows + i * depth * Tile::kParts);
        for (int64_t j = 0; j < width; j += kColumns)
          for (int64_t i = 0; i < height; i += kRows)
            MultiplyTile<T>(depth, alpha, rows + i * depth * Tile::kParts,
                            columns + j * depth * Tile::kParts, add,
                            c + i0 + i + (j0 + j) * ldc, ldc,
                            std::min(kRows, height - i),
                            std::min(kColumns, width - j));
      }
    }
  }
}

// Rows or columns of a triangle at a time: the block on its diagonal becomes a
// square with zeros.
inline constexpr int64_t kBlock = 32;

// form(a) of a block [n, n] on the diagonal.
template <typename T>
void FillSquare(bool upper, Form form, bool unit, int64_t n, const T* a,
                int64_t lda, T* to) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      T x = 0;
      if (i == j) {
        x = unit ? T(1) : a[i + i * lda];
      } else if ((form == Form::kAsIs ? i < j : j < i) == upper) {
        x = *ElementOf(form, a, lda, i, j);
      }
      to[i + j * n] = form == Form::kAdjoint ? Conjugate(x) : x;
    }
  }
}

template <typename T>
void Trmm(bool left, bool upper, Form form, bool unit, int64_t m, int64_t n,
          T alpha, const T* a, int64_t lda, T* b, int64_t ldb) {
  if (m <= 0 || n <= 0) return;
  const int64_t order = left ? m : n;
  // Whether form(a) is an upper triangle, and whether the first block is one
  // that no other needs.
  const bool is_upper = upper == (form == Form::kAsIs);
  const bool ascending = is_upper == left;
  Scratch<T> scratch(kBlock * kBlock +
                     std::min(kBlock, order) * (left ? n : m));
  T *const square = scratch.data(), *const copy = square + kBlock * kBlock;
  const int64_t blocks = (order + kBlock - 1) / kBlock;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t at = (ascending ? block : blocks - 1 - block) * kBlock;
    const int64_t size = std::min(kBlock, order - at);
    FillSquare(upper, form, unit, size, a + at + at * lda, lda, square);
    const int64_t rest = ascending ? at + size : 0;
    const int64_t others = ascending ? order - rest : at;
    if (left) {
      T* const to = b + at;
      for (int64_t j = 0; j < n; ++j)
        std::copy_n(to + j * ldb, size, copy + j * size);
      Gemm<T>(Form::kAsIs, Form::kAsIs, size, n, size, alpha, square, size,
              copy, size, T(0), to, ldb);
      Gemm<T>(form, Form::kAsIs, size, n, others, alpha,
              ElementOf(form, a, lda, at, rest), lda, b + rest, ldb, T(1), to,
              ldb);
    } else {
      T* const to = b + at * ldb;
      for (int64_t j = 0; j < size; ++j)
        std::copy_n(to + j * ldb, m, copy + j * m);
      Gemm<T>(Form::kAsIs, Form::kAsIs, m, size, size, alpha, copy, m, square,
              size, T(0), to, ldb);
      Gemm<T>(Form::kAsIs, form, m, size, others, alpha, b + rest * ldb, ldb,
              ElementOf(form, a, lda, rest, at), lda, T(1), to, ldb);
    }
  }
}

// Element (i, j) of x = t^-1 x is at x + i * step + j * next, of a square t
// [n, n] that FillSquare made, n <= kBlock. Vectors go over j.
template <typename T>
void SolveSquare(bool upper, int64_t n, const T* t, int64_t count, T* x,
                 int64_t step, int64_t next) {
  using R = typename PartsOf<T>::Real;
  using P = Parts<R>;
  constexpr int kParts = PartsOf<T>::kCount, kLanes = P::kLanes;
  alignas(kVectorBytes) R rows[kBlock][kParts][kLanes];
  const auto load = [&](int64_t i, int e) { return P::Load(rows[i][e]); };
  for (int64_t j = 0; j < count; j += kLanes) {
    const int64_t lanes = std::min<int64_t>(kLanes, count - j);
    T* const at = x + j * next;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const T number = l < lanes ? at[i * step + l * next] : T(0);
        rows[i][0][l] = std::real(number);
        if constexpr (kParts == 2) rows[i][1][l] = number.imag();
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      const int64_t p = upper ? n - 1 - k : k;
      const T pivot = t[p + p * n];
      auto real = load(p, 0);
      if constexpr (kParts == 1) {
        real = real / P::Fill(pivot);
      } else if (pivot != T(1)) {
        // The larger part of the divisor is divided by, so that no square
        // leaves the range of numbers.
        const auto imaginary = load(p, 1);
        const R c = pivot.real(), d = pivot.imag();
        const bool by_real = std::abs(c) >= std::abs(d);
        const R ratio = by_real ? d / c : c / d;
        const auto r = P::Fill(ratio);
        const auto under = P::Fill(by_real ? c + d * ratio : c * ratio + d);
        real = (by_real ? load(p, 0) + imaginary * r
                        : load(p, 0) * r + imaginary) /
               under;
        P::Store(rows[p][1], (by_real ? imaginary - load(p, 0) * r
                                      : imaginary * r - load(p, 0)) /
                                 under);
      }
      P::Store(rows[p][0], real);
      const int64_t begin = upper ? 0 : p + 1, end = upper ? p : n;
      for (int64_t i = begin; i < end; ++i) {
        const T f = t[i + p * n];
        const auto minus = P::Fill(-std::real(f));
        auto sum = P::MultiplyAdd(minus, real, load(i, 0));
        if constexpr (kParts == 2) {
          const auto imaginary = load(p, 1), g = P::Fill(f.imag());
          sum = P::MultiplyAdd(g, imaginary, sum);
          P::Store(rows[i][1],
                   P::MultiplyAdd(
                       -g, real, P::MultiplyAdd(minus, imaginary, load(i, 1))));
        }
        P::Store(rows[i][0], sum);
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t l = 0; l < lanes; ++l) {
        if constexpr (kParts == 2) {
          at[i * step + l * next] = {rows[i][0][l], rows[i][1][l]};
        } else {
          at[i * step + l * next] = rows[i][0][l];
        }
      }
    }
  }
}

// Halves of the triangle, of which the first one's solution is taken from the
// other's right hand side by a product.
template <typename T>
void SolveHalves(bool left, bool upper, Form form, bool unit, int64_t order,
                 int64_t others, const T* a, int64_t lda, T* b, int64_t ldb,
                 T* square) {
  const bool is_upper = upper == (form == Form::kAsIs);
  if (order <= kBlock) {
    FillSquare(upper, form, unit, order, a, lda, square);
    if (!left) {  // x form(a) = b: of the transpose
      for (int64_t j = 0; j < order; ++j)
        for (int64_t i = 0; i < j; ++i)
          std::swap(square[i + j * order], square[j + i * order]);
    }
    SolveSquare(is_upper == left, order, square, others, b, left ? 1 : ldb,
                left ? ldb : 1);
    return;
  }
  const int64_t half = (order / 2 + kBlock - 1) / kBlock * kBlock;
  const bool second_first = is_upper == left;
  const int64_t first = second_first ? half : 0, second = half - first;
  const int64_t of_first = second_first ? order - half : half;
  const int64_t of_second = order - of_first;
  const int64_t step = left ? 1 : ldb;
  SolveHalves(left, upper, form, unit, of_first, others, a + first * (lda + 1),
              lda, b + first * step, ldb, square);
  if (left) {
    Gemm<T>(form, Form::kAsIs, of_second, others, of_first, T(-1),
            ElementOf(form, a, lda, second, first), lda, b + first, ldb, T(1),
            b + second, ldb);
  } else {
    Gemm<T>(Form::kAsIs, form, others, of_second, of_first, T(-1),
            b + first * ldb, ldb, ElementOf(form, a, lda, first, second), lda,
            T(1), b + second * ldb, ldb);
  }
  SolveHalves(left, upper, form, unit, of_second, others,
              a + second * (lda + 1), lda, b + second * step, ldb, square);
}

template <typename T>
void Trsm(bool left, bool upper, Form form, bool unit, int64_t m, int64_t n,
          T alpha, const T* a, int64_t lda, T* b, int64_t ldb) {
  if (m <= 0 || n <= 0) return;
  if (alpha != T(1)) ScaleBy(alpha, m, n, b, ldb);
  Scratch<T> square(kBlock * kBlock);
  SolveHalves(left, upper, form, unit, left ? m : n, left ? n : m, a, lda, b,
              ldb, square.data());
}

// One triangle of a Hermitian c [n, n] = beta c + a product, whose rows from i
// and columns from j are added by multiply(i, j, rows, columns, scale, to,
// row): to = scale to + that part.
template <typename T, typename Beta, typename F>
void UpdateTriangle(bool upper, int64_t n, Beta beta, T* c, int64_t ldc,
                    F&& multiply) {
  const auto scaled = [beta](T x) {
    if (beta == Beta(0)) return T(0);
    if constexpr (std::is_same_v<Beta, T>) {
      return Multiply(beta, x);
    } else {
      return beta * x;
    }
  };
  constexpr int64_t kSide = 48;
  T square[kSide * kSide];
  for (int64_t j = 0; j < n; j += kSide) {
    const int64_t side = std::min(kSide, n - j);
    multiply(j, j, side, side, T(0), square, side);
    for (int64_t q = 0; q < side; ++q) {
      const int64_t begin = upper ? 0 : q, end = upper ? q + 1 : side;
      T* const to = c + j + (j + q) * ldc;
      for (int64_t p = begin; p < end; ++p)
        to[p] = scaled(to[p]) + square[p + q * side];
      to[q] = std::real(to[q]);
    }
    const int64_t i = upper ? 0 : j + side;
    multiply(i, j, upper ? j : n - i, side, T(beta), c + i + j * ldc, ldc);
  }
}

template <typename T>
void Herk(bool upper, bool turned, int64_t n, int64_t k, RealOf<T> alpha,
          const T* a, int64_t lda, RealOf<T> beta, T* c, int64_t ldc) {
  const Form first = turned ? Form::kAdjoint : Form::kAsIs;
  const Form second = turned ? Form::kAsIs : Form::kAdjoint;
  const auto multiply = [&](int64_t i, int64_t j, int64_t rows, int64_t columns,
                            T scale, T* to, int64_t row) {
    Gemm<T>(first, second, rows, columns, k, T(alpha),
            ElementOf(first, a, lda, i, 0), lda,
            ElementOf(second, a, lda, 0, j), lda, scale, to, row);
  };
  UpdateTriangle(upper, n, beta, c, ldc, multiply);
}

template <typename T>
void Her2k(bool upper, bool turned, int64_t n, int64_t k, T alpha, const T* a,
           int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  const Form first = turned ? Form::kAdjoint : Form::kAsIs;
  const Form second = turned ? Form::kAsIs : Form::kAdjoint;
  // c[rows from i, columns from j], of `rows` and `columns`.
  const auto multiply = [&](int64_t i, int64_t j, int64_t rows, int64_t columns,
                            T scale, T* to, int64_t row) {
    Gemm<T>(first, second, rows, columns, k, alpha,
            ElementOf(first, a, lda, i, 0), lda,
            ElementOf(second, b, ldb, 0, j), ldb, scale, to, row);
    Gemm<T>(first, second, rows, columns, k, Conjugate(alpha),
            ElementOf(first, b, ldb, i, 0), ldb,
            ElementOf(second, a, lda, 0, j), lda, T(1), to, row);
  };
  UpdateTriangle(upper, n, beta, c, ldc, multiply);
}

}  // namespace proa::inline v0::ops::PROA_ISA::blas

#endif  // PROA_OPS_LINALG_BLAS_PRODUCTS_H_
