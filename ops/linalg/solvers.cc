#include "ops/linalg/solvers.h"

#include <algorithm>
#include <complex>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/linalg/blas_loops.h"
#include "ops/linalg/factor_loops.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/leveling.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/numbers.h"
#include "ops/linalg/small_matrix.h"

#include "Eigen/Cholesky"
#include "Eigen/LU"

namespace proa::inline v0::ops::dense {
namespace {

// Eigen asks the processor once, which is in a static: at load, for the reason
// that tensor/fork_locks.h gives.
[[maybe_unused]] const auto asked_at_load = Eigen::l1CacheSize();

// Real matrices of at least so many rows go by blocks (factor_loops.h), which
// has no complex ones.
constexpr int64_t kLeastForBlocks = 64;
template <typename T>
constexpr bool kHasBlocks = std::is_floating_point_v<T>;

template <typename T>
int64_t CholeskyByBlocks(const T* a, int64_t n, bool upper, T* out) {
  const FactorLoops<T>& loops = FindFactorLoops<T>();
  std::vector<T> turned(upper ? 0 : n * n);
  T* const u = upper ? out : turned.data();
  if (upper) {
    std::copy_n(a, n * n, u);
  } else {
    loops.transpose(a, n, n, u);
  }
  const int64_t failed = loops.cholesky(u, n);
  if (failed >= 0) return failed;
  for (int64_t i = 1; i < n; ++i) std::fill_n(u + i * n, i, T(0));
  if (!upper) loops.transpose(u, n, n, out);
  return -1;
}

template <typename T>
bool SolveByBlocks(const T* a, const T* b, int64_t n, int64_t k, bool adjoint,
                   T* x) {
  const FactorLoops<T>& loops = FindFactorLoops<T>();
  std::vector<T> lu(a, a + n * n);
  std::vector<int32_t> swaps(n);
  if (loops.lu(lu.data(), n, n, swaps.data()) != 0) return false;
  const auto swap = [&](int64_t i) {
    if (swaps[i] != i)
      std::swap_ranges(x + i * k, x + (i + 1) * k, x + swaps[i] * k);
  };
  std::copy_n(b, n * k, x);
  if (adjoint) {  // U^T L^T P x = b
    loops.solve({lu.data(), 1, n, false, false}, n, x, k);
    loops.solve({lu.data(), 1, n, true, true}, n, x, k);
    for (int64_t i = n; i-- > 0;) swap(i);
  } else {
    for (int64_t i = 0; i < n; ++i) swap(i);
    loops.solve({lu.data(), n, 1, false, true}, n, x, k);
    loops.solve({lu.data(), n, 1, true, false}, n, x, k);
  }
  return true;
}

// Complex ones go through LAPACK, if it can take them as they are: in columns,
// so that rows are columns of the transpose.
constexpr int64_t kLeastForLapack = kMostSmall<std::complex<double>> + 1;
template <typename T>
bool SuitsLapack(const T* a, int64_t rows, int64_t columns) {
  return Eigen::NumTraits<T>::IsComplex && AreOrdinary(a, rows * columns);
}

// L of a = L L^H [n, n], of the lower triangle and into it, as sums of products
// of rows: of few rows LAPACK's calls take longer.
constexpr int64_t kMostByRows = 32;
template <typename T>
int64_t CholeskyByRows(int64_t n, T* a) {
  for (int64_t i = 0; i < n; ++i) {
    T* const row = a + i * n;
    for (int64_t j = 0; j <= i; ++j) {
      const T* const other = a + j * n;
      T sum = row[j];
      for (int64_t k = 0; k < j; ++k)
        sum -= Times(row[k], ConjugateOf(other[k]));
      if (j < i) {
        row[j] = sum / std::real(other[j]);
      } else {
        if (std::real(sum) <= 0) return i;
        row[i] = std::sqrt(std::real(sum));
      }
    }
  }
  return -1;
}

// The transpose of a Hermitian matrix is its conjugate, and L L^H of that U^T
// conj(U), so that a lower triangle as it lies is an upper one in columns.
template <typename T>
int64_t CholeskyByLapack(const T* a, int64_t n, bool upper, T* out) {
  std::vector<T> turned(upper ? n * n : 0);
  T* const l = upper ? turned.data() : out;
  if (upper) {
    Transpose(a, n, n, l);
  } else {
    std::copy_n(a, n * n, l);
  }
  if (n <= kMostByRows) {
    const int64_t failed = CholeskyByRows(n, l);
    if (failed >= 0) return failed;
  } else {
    const int32_t failed = lapack::Cholesky(n, l);
    if (failed > 0) return failed - 1;
  }
  for (int64_t i = 0; i < n; ++i)
    std::fill_n(l + i * n + i + 1, n - i - 1, T(0));
  if (upper) Transpose(l, n, n, out);
  return -1;
}

// Of a times `level`, which is taken from U again.
template <typename T>
int32_t LuByLapack(const T* a, int64_t m, int64_t n, Real<T> level, T* out,
                   int32_t* swaps) {
  std::vector<T> lu(m * n);
  Transpose(a, m, n, lu.data());
  for (int64_t i = 0; level != 1 && i < m * n; ++i) lu[i] *= level;
  const int32_t zero = lapack::Lu(m, n, lu.data(), swaps);
  for (int64_t j = 0; level != 1 && j < n; ++j) {
    for (int64_t i = 0; i < std::min(j + 1, m); ++i) lu[j * m + i] *= 1 / level;
  }
  Transpose(lu.data(), n, m, out);
  return zero;
}

template <typename T>
bool SolveByLapack(const T* a, const T* b, int64_t n, int64_t k, bool adjoint,
                   T* x) {
  const BlasLoops<T>& loops = FindBlasLoops<T>();
  std::vector<T> lu(n * n);
  std::vector<int32_t> swaps(n);
  Transpose(a, n, n, lu.data());
  if (lapack::Lu(n, n, lu.data(), swaps.data()) != 0) return false;
  if (!adjoint) {
    // In columns x is its transpose, of which triangles stand to the right.
    std::copy_n(b, n * k, x);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t other = swaps[i] - 1;
      if (other != i)
        std::swap_ranges(x + i * k, x + (i + 1) * k, x + other * k);
    }
    for (const bool upper : {false, true})
      loops.trsm(false, upper, Form::kTransposed, !upper, k, n, T(1), lu.data(),
                 n, x, k);
    return true;
  }
  std::vector<T> y(n * k);  // U^H L^H P x = b
  Transpose(b, n, k, y.data());
  for (const bool upper : {true, false})
    loops.trsm(true, upper, Form::kAdjoint, !upper, n, k, T(1), lu.data(), n,
               y.data(), n);
  for (int64_t j = 0; j < k; ++j) {
    T* const column = y.data() + j * n;
    for (int64_t i = n; i-- > 0;) std::swap(column[i], column[swaps[i] - 1]);
  }
  Transpose(y.data(), k, n, x);
  return true;
}

// Of a column-major matrix; not inlined, since each takes long to compile.
template <typename W>
[[gnu::noinline]] int64_t FactorLower(Matrix<W>& a) {
  return Eigen::internal::llt_inplace<W, Eigen::Lower>::blocked(a);
}

template <typename W>
[[gnu::noinline]] void SolveUpper(const Matrix<W>& t, Matrix<W>& y) {
  t.template triangularView<Eigen::Upper>().solveInPlace(y);
}

template <typename W>
[[gnu::noinline]] void SolveLower(const Matrix<W>& t, Matrix<W>& y) {
  t.template triangularView<Eigen::Lower>().solveInPlace(y);
}

// Row i was swapped with row swaps[i], from 0. The first pivot that is 0, from
// 1, or 0.
template <typename W>
[[gnu::noinline]] int32_t Eliminate(Matrix<W>& lu, int32_t* swaps) {
  const int64_t m = lu.rows(), n = lu.cols(), k = std::min(m, n);
  int32_t count = 0;
  const auto zero = Eigen::internal::partial_lu_impl<
      W, Eigen::ColMajor, int32_t, Eigen::Dynamic>::blocked_lu(m, k, lu.data(),
                                                               m, swaps, count);
  if (n > k) {  // Columns that have no pivot.
    Matrix<W> rest = lu.rightCols(n - k);
    for (int64_t i = 0; i < k; ++i) {
      if (swaps[i] != i) rest.row(i).swap(rest.row(swaps[i]));
    }
    Matrix<W> lower = lu.leftCols(k);
    lower.diagonal().setOnes();
    SolveLower<W>(lower, rest);
    lu.rightCols(n - k) = rest;
  }
  return static_cast<int32_t>(zero + 1);
}

// Divisions by complex numbers square their parts.
template <typename W>
Real<W> ComplexLeveling(const Matrix<W>& a) {
  if constexpr (Eigen::NumTraits<W>::IsComplex) return Leveling(a);
  return 1;
}

// The same without swaps, column by column.
template <typename W>
int32_t EliminateInOrder(Matrix<W>& lu) {
  const int64_t m = lu.rows(), n = lu.cols();
  int32_t zero = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    const W pivot = lu(k, k);
    if (pivot == W(0) && zero == 0) zero = static_cast<int32_t>(k + 1);
    for (int64_t i = k + 1; i < m; ++i) {
      // Zeros below a zero are left alone; others give infinity.
      if (pivot != W(0) || lu(i, k) != W(0)) lu(i, k) /= pivot;
    }
    for (int64_t j = k + 1; j < n; ++j) {
      const W f = lu(k, j);
      for (int64_t i = k + 1; i < m; ++i) lu(i, j) -= lu(i, k) * f;
    }
  }
  return zero;
}

}  // namespace

template <typename T>
int64_t Cholesky(const T* a, int64_t n, bool upper, T* out) {
  if constexpr (kHasBlocks<T>) {
    if (n >= kLeastForBlocks) return CholeskyByBlocks(a, n, upper, out);
  } else if (SuitsLapack(a, n, n)) {
    return CholeskyByLapack(a, n, upper, out);
  }
  using W = Work<T>;
  Matrix<W> l = Read<W>(a, n, n);
  if (upper) l = l.adjoint().eval();
  const int64_t failed = FactorLower<W>(l);
  if (failed >= 0) return failed;
  for (int64_t j = 1; j < n; ++j) l.col(j).head(j).setZero();
  if (upper) l = l.adjoint().eval();
  Write(l, out);
  return -1;
}

template <typename T>
int32_t Lu(const T* a, int64_t m, int64_t n, bool pivot, T* out,
           int32_t* swaps) {
  const int64_t k = std::min(m, n);
  int32_t zero;
  if constexpr (kHasBlocks<T>) {
    if (pivot && k >= kLeastForBlocks) {
      std::copy_n(a, m * n, out);
      zero = FindFactorLoops<T>().lu(out, m, n, swaps);
      for (int64_t i = 0; i < k; ++i) ++swaps[i];
      return zero;
    }
  }
  if (pivot && m == n && IsSmall<T>(n)) {
    std::copy_n(a, n * n, out);
    zero = VisitSmall<T>(n, [&]<int kN>(std::integral_constant<int, kN>) {
      return SmallLu<kN>(out, swaps);
    });
    for (int64_t i = 0; i < n; ++i) ++swaps[i];
    return zero;
  }
  if constexpr (!kHasBlocks<T>) {
    if (const Real<T> level = LevelingOfParts(a, m * n); pivot && level > 0)
      return LuByLapack(a, m, n, level, out, swaps);
  }
  using W = Work<T>;
  Matrix<W> lu = Read<W>(a, m, n);
  const Real<W> level = ComplexLeveling(lu);
  if (level != 1) lu *= level;
  if (pivot) {
    zero = Eliminate<W>(lu, swaps);
  } else {
    for (int64_t i = 0; i < k; ++i) swaps[i] = static_cast<int32_t>(i);
    zero = EliminateInOrder<W>(lu);
  }
  for (int64_t j = 0; level != 1 && j < n; ++j)
    lu.col(j).head(std::min(j + 1, m)) *= 1 / level;
  for (int64_t i = 0; i < k; ++i) ++swaps[i];
  Write(lu, out);
  return zero;
}

template <typename T>
bool Solve(const T* a, const T* b, int64_t n, int64_t k, bool adjoint, T* x) {
  if constexpr (kHasBlocks<T>) {
    if (n >= kLeastForBlocks) return SolveByBlocks(a, b, n, k, adjoint, x);
  } else if (n >= kLeastForLapack && SuitsLapack(a, n, n) &&
             AreOrdinary(b, n * k)) {
    return SolveByLapack(a, b, n, k, adjoint, x);
  }
  if (IsSmall<T>(n)) return SolveSmall(a, b, n, k, adjoint, x);
  using W = Work<T>;
  Matrix<W> lu = Read<W>(a, n, n);
  std::vector<int32_t> swaps(n);
  const Real<W> level = ComplexLeveling(lu);
  if (level != 1) lu *= level;
  if (Eliminate<W>(lu, swaps.data()) != 0) return false;
  Matrix<W> y = Read<W>(b, n, k);
  if (level != 1) y *= level;
  Matrix<W> lower = lu;
  lower.diagonal().setOnes();
  if (adjoint) {  // U^H L^H P x = b
    lu = lu.adjoint().eval();
    lower = lower.adjoint().eval();
    SolveLower<W>(lu, y);
    SolveUpper<W>(lower, y);
    for (int64_t i = n; i-- > 0;) {
      if (swaps[i] != i) y.row(i).swap(y.row(swaps[i]));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      if (swaps[i] != i) y.row(i).swap(y.row(swaps[i]));
    }
    SolveLower<W>(lower, y);
    SolveUpper<W>(lu, y);
  }
  Write(y, x);
  return true;
}

template <typename T>
void SolveTriangle(const T* a, const T* b, int64_t n, int64_t k, bool upper,
                   bool transpose, bool unit, T* x) {
  if constexpr (kHasBlocks<T>) {
    constexpr int64_t kLeastColumns = 8;  // blocks take vectors of them
    if (n >= kLeastForBlocks && k >= kLeastColumns) {
      std::copy_n(b, n * k, x);
      return FindFactorLoops<T>().solve(
          {a, transpose ? 1 : n, transpose ? n : 1, upper != transpose, unit},
          n, x, k);
    }
  }
  using W = Work<T>;
  Matrix<W> t = Read<W>(a, n, n), y = Read<W>(b, n, k);
  if (transpose) {
    t.transposeInPlace();
    upper = !upper;
  }
  if (unit) t.diagonal().setOnes();
  if (upper) {
    SolveUpper<W>(t, y);
  } else {
    SolveLower<W>(t, y);
  }
  Write(y, x);
}

#define PROA_INSTANTIATE(T)                                               \
  template int64_t Cholesky(const T*, int64_t, bool, T*);                 \
  template int32_t Lu(const T*, int64_t, int64_t, bool, T*, int32_t*);    \
  template bool Solve(const T*, const T*, int64_t, int64_t, bool, T*);    \
  template void SolveTriangle(const T*, const T*, int64_t, int64_t, bool, \
                              bool, bool, T*);
PROA_INSTANTIATE(float)
PROA_INSTANTIATE(double)
PROA_INSTANTIATE(std::complex<float>)
PROA_INSTANTIATE(std::complex<double>)
#undef PROA_INSTANTIATE

}  // namespace proa::inline v0::ops::dense
