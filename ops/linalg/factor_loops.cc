// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/linalg/factor_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/linalg/block_products.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Rows and columns that are factored by single steps; the rest of the matrix
// then follows with products.
constexpr int64_t kBlock = 32;

// to[0, n) -= f x[0, n). Of a whole block the compiler makes vectors alone.
template <typename T>
inline void SubtractRow(const T* __restrict x, T f, int64_t n,
                        T* __restrict to) {
  if (n == kBlock) {
    for (int64_t c = 0; c < kBlock; ++c) to[c] -= f * x[c];
  } else {
    for (int64_t c = 0; c < n; ++c) to[c] -= f * x[c];
  }
}

// c [n, n] -= the upper triangle of a^T a, a [k, n]; the rest of c too, in
// part. Rows of both are `row` apart.
template <typename T>
void SubtractGram(int64_t n, int64_t k, const T* a, int64_t a_row, T* c,
                  int64_t c_row) {
  constexpr int64_t kHigh = 48;
  for (int64_t i = 0; i < n; i += kHigh) {
    const int64_t rows = std::min(kHigh, n - i);
    blocks::Subtract<T>(rows, n - i, k, {a + i, 1, a_row}, a + i, a_row,
                        c + i * c_row + i, c_row);
  }
}

// Of a block on the diagonal.
template <typename T>
int64_t CholeskyBlock(T* a, int64_t row, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    T* const pivot_row = a + j * row;
    if (pivot_row[j] <= 0) return j;
    const T root = std::sqrt(pivot_row[j]);
    pivot_row[j] = root;
    for (int64_t c = j + 1; c < n; ++c) pivot_row[c] /= root;
    for (int64_t i = j + 1; i < n; ++i)
      SubtractRow(pivot_row + i, pivot_row[i], n - i, a + i * row + i);
  }
  return -1;
}

template <typename T>
int64_t Cholesky(T* a, int64_t n) {
  for (int64_t k = 0; k < n; k += kBlock) {
    const int64_t b = std::min(kBlock, n - k), rest = n - k - b;
    T* const block = a + k * n + k;
    const int64_t failed = CholeskyBlock(block, n, b);
    if (failed >= 0) return k + failed;
    if (rest == 0) break;
    blocks::SolveBlock<T>({block, 1, n, false, false}, b, block + b, n, rest);
    SubtractGram(rest, b, block + b, n, block + b * n + b, n);
  }
  return -1;
}

// Columns [k, k + b) of a [m, n]; rows are swapped in all of a.
template <typename T>
int32_t LuPanel(T* a, int64_t m, int64_t n, int64_t k, int64_t b,
                int32_t* swaps) {
  int32_t zero = 0;
  for (int64_t j = k; j < k + b; ++j) {
    int64_t best = j;
    T largest = std::abs(a[j * n + j]);
    for (int64_t i = j + 1; i < m; ++i) {
      const T size = std::abs(a[i * n + j]);
      if (size > largest) {
        largest = size;
        best = i;
      }
    }
    swaps[j] = static_cast<int32_t>(best);
    T* const pivot_row = a + j * n;
    if (best != j) std::swap_ranges(pivot_row, pivot_row + n, a + best * n);
    const T pivot = pivot_row[j];
    if (pivot == T(0)) {
      if (zero == 0) zero = static_cast<int32_t>(j + 1);
      continue;
    }
    // With zeros for what is done, so that all rows have one length.
    T right[kBlock] = {};
    std::copy(pivot_row + j + 1, pivot_row + k + b, right + (j + 1 - k));
    for (int64_t i = j + 1; i < m; ++i) {
      T* const row = a + i * n;
      const T f = row[j] / pivot;
      SubtractRow(right, f, b, row + k);
      row[j] = f;
    }
  }
  return zero;
}

template <typename T>
int32_t Lu(T* a, int64_t m, int64_t n, int32_t* swaps) {
  int32_t zero = 0;
  const int64_t pivots = std::min(m, n);
  for (int64_t k = 0; k < pivots; k += kBlock) {
    const int64_t b = std::min(kBlock, pivots - k), rest = n - k - b;
    const int32_t here = LuPanel(a, m, n, k, b, swaps);
    if (zero == 0) zero = here;
    if (rest == 0) continue;
    T* const block = a + k * n + k;
    blocks::SolveBlock<T>({block, n, 1, false, true}, b, block + b, n, rest);
    blocks::Subtract<T>(m - k - b, rest, b, {block + b * n, n, 1}, block + b, n,
                        block + b * n + b, n);
  }
  return zero;
}

template <typename T>
void Solve(const Triangle<T>& t, int64_t n, T* x, int64_t k) {
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t b = std::min(kBlock, n - done), rest = n - done - b;
    // The block's first row, and that of the rows that wait for it.
    const int64_t at = t.upper ? rest : done, next = t.upper ? 0 : done + b;
    const T* const block = t.data + at * (t.row + t.column);
    blocks::SolveBlock<T>({block, t.row, t.column, t.upper, t.unit}, b,
                          x + at * k, k, k);
    if (rest == 0) break;
    blocks::Subtract<T>(
        rest, k, b, {t.data + next * t.row + at * t.column, t.row, t.column},
        x + at * k, k, x + next * k, k);
  }
}

// The reflections of one block of columns: I - V T V^T of them all, V [rows,
// b] dense with ones on its diagonal and zeros above.
template <typename T>
struct Reflections {
  int64_t rows, b;
  std::vector<T> v;
  T t[kBlock * kBlock] = {};

  // c [rows, n] = (I - V T V^T) c, or with T^T.
  void Apply(bool transpose, T* c, int64_t c_row, int64_t n) const {
    if (n == 0) return;
    std::vector<T> inner(b * n), turned(b * n);
    blocks::Subtract<T>(b, n, rows, {v.data(), 1, b}, c, c_row, inner.data(),
                        n);
    const blocks::Operand<T> of_t{t, transpose ? 1 : kBlock,
                                  transpose ? kBlock : 1};
    blocks::Subtract<T>(b, n, b, of_t, inner.data(), n, turned.data(), n);
    blocks::Subtract<T>(rows, n, b, {v.data(), b, 1}, turned.data(), n, c,
                        c_row);
  }
};

// The length of n numbers, `row` apart; also where their squares leave the
// range of float64.
template <typename T>
double Length(const T* x, int64_t row, int64_t n) {
  double squares = 0, largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = x[i * row];
    squares += v * v;
    largest = std::max(largest, std::abs(v));
  }
  constexpr double kSafe = 1e140;
  if (largest == 0 || (largest > 1 / kSafe && largest < kSafe))
    return std::sqrt(squares);
  squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = x[i * row] / largest;
    squares += v * v;
  }
  return largest * std::sqrt(squares);
}

// Reflects columns [0, b) of a [m, ...] one by one; what each reflection is
// goes below the diagonal and to `scales`.
template <typename T>
void ReflectColumns(T* a, int64_t row, int64_t m, int64_t b, T* scales) {
  for (int64_t j = 0; j < b; ++j) {
    T* const pivot_row = a + j * row;
    const T pivot = pivot_row[j];
    const double below = Length(pivot_row + row + j, row, m - j - 1);
    scales[j] = 0;
    // Subnormal numbers have too few digits for a reflection.
    if (below <= static_cast<double>(std::numeric_limits<T>::min())) {
      for (int64_t i = j + 1; i < m; ++i) a[i * row + j] = 0;
      continue;
    }
    double length = std::hypot(static_cast<double>(pivot), below);
    if (pivot >= 0) length = -length;
    const T divisor = static_cast<T>(pivot - length);
    scales[j] = static_cast<T>((length - pivot) / length);
    // v^T a of the columns that follow; zeros for those before.
    T sums[kBlock] = {};
    for (int64_t i = j + 1; i < m; ++i) {
      T* const from = a + i * row;
      const T v = from[j] / divisor;
      SubtractRow(from, -v, b, sums);
      from[j] = v;
    }
    for (int64_t c = 0; c < b; ++c)
      sums[c] = c > j ? (sums[c] + pivot_row[c]) * scales[j] : T(0);
    pivot_row[j] = static_cast<T>(length);
    SubtractRow(sums, T(1), b, pivot_row);
    for (int64_t i = j + 1; i < m; ++i)
      SubtractRow(sums, a[i * row + j], b, a + i * row);
  }
}

template <typename T>
Reflections<T> ReflectBlock(T* a, int64_t row, int64_t m, int64_t b) {
  T scales[kBlock];
  ReflectColumns(a, row, m, b, scales);
  Reflections<T> all{m, b, std::vector<T>(m * b), {}};
  for (int64_t i = 0; i < m; ++i) {
    T* const to = all.v.data() + i * b;
    std::copy_n(a + i * row, std::min(i, b), to);
    if (i < b) to[i] = 1;
  }
  // T grows by columns: -scale T V^T v, with the products of all columns.
  T products[kBlock * kBlock] = {};
  blocks::Subtract<T>(b, b, m, {all.v.data(), 1, b}, all.v.data(), b, products,
                      kBlock);
  for (int64_t j = 0; j < b; ++j) {
    all.t[j * kBlock + j] = scales[j];
    for (int64_t i = 0; i < j; ++i) {
      T sum = 0;
      for (int64_t p = i; p < j; ++p)
        sum += all.t[i * kBlock + p] * products[p * kBlock + j];
      all.t[i * kBlock + j] = sum * scales[j];
    }
  }
  return all;
}

template <typename T>
void Qr(T* a, int64_t m, int64_t n, int64_t columns, T* q) {
  const int64_t all = std::min(m, n);
  std::vector<Reflections<T>> parts;
  for (int64_t k = 0; k < all; k += kBlock) {
    const int64_t b = std::min(kBlock, all - k);
    T* const block = a + k * n + k;
    parts.push_back(ReflectBlock(block, n, m - k, b));
    parts.back().Apply(true, block + b, n, n - k - b);
  }
  if (q == nullptr) return;
  std::fill_n(q, m * columns, T(0));
  for (int64_t i = 0; i < columns; ++i) q[i * columns + i] = 1;
  for (int64_t p = static_cast<int64_t>(parts.size()); p-- > 0;) {
    const int64_t k = p * kBlock;
    parts[p].Apply(false, q + k * columns + k, columns, columns - k);
  }
}

template <typename T>
void Gram(const T* a, int64_t m, int64_t n, T* c) {
  std::fill_n(c, n * n, T(0));
  SubtractGram(n, m, a, n, c, n);
  for (int64_t i = 0; i < n * n; ++i) c[i] = -c[i];
}

// By tiles, whose lines stay in the cache.
template <typename T>
void Transpose(const T* from, int64_t m, int64_t n, T* to) {
  constexpr int64_t kTile = 16;
  for (int64_t i0 = 0; i0 < m; i0 += kTile) {
    const int64_t i1 = std::min(m, i0 + kTile);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = i0; i < i1; ++i) to[j * m + i] = from[i * n + j];
  }
}

template <typename T>
constexpr FactorLoops<T> kLoops = {Cholesky<T>, Lu<T>,   Solve<T>,
                                   Qr<T>,       Gram<T>, Transpose<T>};

}  // namespace

const FactorLoops<float>& FloatFactorLoops() { return kLoops<float>; }
const FactorLoops<double>& DoubleFactorLoops() { return kLoops<double>; }

}  // namespace proa::inline v0::ops::PROA_ISA
