#include "ops/linalg/solvers.h"

#include <algorithm>
#include <vector>

#include "ops/linalg/matrix.h"

#include "Eigen/Cholesky"
#include "Eigen/LU"

namespace proa::inline v0::ops::dense {
namespace {

// Eigen asks the processor once, which is in a static: at load, for the reason
// that tensor/fork_locks.h gives.
[[maybe_unused]] const auto asked_at_load = Eigen::l1CacheSize();

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
  using W = Work<T>;
  Matrix<W> lu = Read<W>(a, m, n);
  const int64_t k = std::min(m, n);
  int32_t zero;
  if (pivot) {
    zero = Eliminate<W>(lu, swaps);
  } else {
    for (int64_t i = 0; i < k; ++i) swaps[i] = static_cast<int32_t>(i);
    zero = EliminateInOrder<W>(lu);
  }
  for (int64_t i = 0; i < k; ++i) ++swaps[i];
  Write(lu, out);
  return zero;
}

template <typename T>
bool Solve(const T* a, const T* b, int64_t n, int64_t k, bool adjoint, T* x) {
  using W = Work<T>;
  Matrix<W> lu = Read<W>(a, n, n);
  std::vector<int32_t> swaps(n);
  if (Eliminate<W>(lu, swaps.data()) != 0) return false;
  Matrix<W> y = Read<W>(b, n, k);
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
