// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/linalg/factor_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ops/linalg/block_products.h"
#include "ops/primitives/cpu/vectors.h"

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
  blocks::Subtract<T>(n, n, k, {a, 1, a_row}, a, a_row, c, c_row, true);
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

// Pairs of rows of a square of kLanes^2, `step` apart, change squares of
// `step`.
template <typename T, int step, int... c>
inline void SwapSquares(typename VectorOf<T>::Type* rows,
                        std::integer_sequence<int, c...>) {
  constexpr int kLanes = VectorOf<T>::kLanes;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & step) != 0) continue;
    const auto high = rows[i], low = rows[i + step];
    rows[i] = __builtin_shufflevector(
        high, low, ((c & step) != 0 ? kLanes + c - step : c)...);
    rows[i + step] = __builtin_shufflevector(
        high, low, ((c & step) != 0 ? kLanes + c : c + step)...);
  }
}

// to [n, m] = the transpose of from [m, n]: squares in registers.
template <typename T>
void TransposeRows(const T* from, int64_t from_row, int64_t m, int64_t n, T* to,
                   int64_t to_row) {
  using V = VectorOf<T>;
  constexpr int kLanes = V::kLanes;
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>{};
  const int64_t high = m - m % kLanes, wide = n - n % kLanes;
  for (int64_t i = 0; i < high; i += kLanes) {
    for (int64_t j = 0; j < wide; j += kLanes) {
      typename V::Type rows[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r)
        rows[r] = V::Load(from + (i + r) * from_row + j);
      SwapSquares<T, 1>(rows, kAll);
      if constexpr (kLanes > 2) SwapSquares<T, 2>(rows, kAll);
      if constexpr (kLanes > 4) SwapSquares<T, 4>(rows, kAll);
      if constexpr (kLanes > 8) SwapSquares<T, 8>(rows, kAll);
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r)
        V::Store(to + (j + r) * to_row + i, rows[r]);
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = i < high ? wide : 0; j < n; ++j)
      to[j * to_row + i] = from[i * from_row + j];
  }
}

// The first of the largest of n numbers; x is longer by a vector, of zeros.
template <typename T>
int64_t IndexOfLargest(const T* x, int64_t n) {
  using V = VectorOf<T>;
  typename V::Type largest = {};
  for (int64_t i = 0; i < n; i += V::kLanes) {
    const typename V::Type v = V::Load(x + i), size = v < 0 ? -v : v;
    largest = size > largest ? size : largest;
  }
  T most = std::abs(x[0]);
  for (int i = 0; i < V::kLanes; ++i) most = std::max(most, largest[i]);
  for (int64_t i = 0; i < n; ++i) {
    if (std::abs(x[i]) == most) return i;
  }
  return 0;  // NaN is first
}

// x[0, n) -= f y[0, n); both are longer by a vector.
template <typename T>
void SubtractColumn(const T* y, T f, int64_t n, T* x) {
  using V = VectorOf<T>;
  const typename V::Type minus = -f - typename V::Type{};
  for (int64_t i = 0; i < n; i += V::kLanes)
    V::Store(x + i, V::MultiplyAdd(minus, V::Load(y + i), V::Load(x + i)));
}

// Columns [k, k + b) of a [m, n]; rows are swapped in all of a. The panel is
// turned, so that its columns are what vectors are made of.
template <typename T>
int32_t LuPanel(T* a, int64_t m, int64_t n, int64_t k, int64_t b,
                int32_t* swaps) {
  int32_t zero = 0;
  const int64_t high = m - k, column = high + VectorOf<T>::kLanes;
  std::vector<T> turned(b * column);
  TransposeRows(a + k * n + k, n, high, b, turned.data(), column);
  for (int64_t j = 0; j < b; ++j) {
    T* const here = turned.data() + j * column;
    const int64_t best = j + IndexOfLargest(here + j, high - j);
    swaps[k + j] = static_cast<int32_t>(k + best);
    if (best != j) {
      for (int64_t c = 0; c < b; ++c)
        std::swap(turned[c * column + j], turned[c * column + best]);
      T *const row = a + (k + j) * n, *const other = a + (k + best) * n;
      std::swap_ranges(row, row + k, other);
      std::swap_ranges(row + k + b, row + n, other + k + b);
    }
    const T pivot = here[j];
    if (pivot == T(0)) {
      if (zero == 0) zero = static_cast<int32_t>(k + j + 1);
      continue;
    }
    for (int64_t i = j + 1; i < high; ++i) here[i] /= pivot;
    for (int64_t c = j + 1; c < b; ++c) {
      T* const x = turned.data() + c * column;
      SubtractColumn(here + j + 1, x[j], high - j - 1, x + j + 1);
    }
  }
  TransposeRows(turned.data(), column, b, high, a + k * n + k, n);
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
    blocks::CopyShort(a + i * row, std::min(i, b), to);
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

template <typename T>
void Transpose(const T* from, int64_t m, int64_t n, T* to) {
  TransposeRows(from, n, m, n, to, m);
}

template <typename T>
constexpr FactorLoops<T> kLoops = {Cholesky<T>, Lu<T>,   Solve<T>,
                                   Qr<T>,       Gram<T>, Transpose<T>};

}  // namespace

const FactorLoops<float>& FloatFactorLoops() { return kLoops<float>; }
const FactorLoops<double>& DoubleFactorLoops() { return kLoops<double>; }

}  // namespace proa::inline v0::ops::PROA_ISA
