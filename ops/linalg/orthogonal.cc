#include "ops/linalg/orthogonal.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ops/linalg/factor_loops.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/leveling.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/small_matrix.h"

#include "Eigen/QR"

namespace proa::inline v0::ops::dense {
namespace {

// Q [m, columns] of a; R [min(m, n), n] takes its place. Not inlined, since it
// takes long to compile.
template <typename W>
[[gnu::noinline]] void Reflect(Matrix<W>& a, int64_t columns, Matrix<W>* q) {
  const int64_t k = std::min(a.rows(), a.cols());
  const Real<W> level = Leveling(a);
  if (level != 1) a *= level;
  const Eigen::HouseholderQR<Matrix<W>> qr(a);
  if (q != nullptr) {
    q->setIdentity(a.rows(), columns);
    q->applyOnTheLeft(qr.householderQ());
  }
  a = qr.matrixQR().topRows(k);
  for (int64_t j = 0; j + 1 < k; ++j) a.col(j).tail(k - 1 - j).setZero();
  if (level != 1) a *= 1 / level;
}

// y = r^-1 y, or r^-H y. False if r has a zero on its diagonal.
template <typename W>
[[gnu::noinline]] bool SolveUpper(const Matrix<W>& r, bool adjoint,
                                  Matrix<W>& y) {
  if ((r.diagonal().array() == W(0)).any()) return false;
  if (adjoint) {
    const Matrix<W> lower = r.adjoint();
    lower.template triangularView<Eigen::Lower>().solveInPlace(y);
  } else {
    r.template triangularView<Eigen::Upper>().solveInPlace(y);
  }
  return true;
}

}  // namespace

template <typename T>
void Qr(const T* a, int64_t m, int64_t n, int64_t columns, T* q, T* r) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr int64_t kLeastForBlocks = 48;
    // These keep columns of any size in one matrix; of subnormal numbers they
    // would make zeros.
    const T level = Leveling(ConstRows<T>(a, m, n));
    if (std::min(m, n) >= kLeastForBlocks || level != 1) {
      std::vector<T> work(a, a + m * n);
      if (level > 1)
        for (T& x : work) x *= level;
      FindFactorLoops<T>().qr(work.data(), m, n, columns, q);
      if (level > 1)
        for (T& x : work) x /= level;
      for (int64_t i = 0; i < columns; ++i) {
        const int64_t zeros = std::min(i, n);
        std::fill_n(r + i * n, zeros, T(0));
        std::copy_n(work.data() + i * n + zeros, n - zeros, r + i * n + zeros);
      }
      return;
    }
    if (std::max({m, n, columns}) <= kMostReflected)
      return SmallQr(a, m, n, columns, q, r);
  } else {
    constexpr int64_t kLeastForLapack = 16;
    if (std::min(m, n) >= kLeastForLapack && AreOrdinary(a, m * n)) {
      std::vector<T> work(m * n), turned(q == nullptr ? 0 : m * columns);
      Transpose(a, m, n, work.data());
      lapack::Qr(m, n, columns, work.data(),
                 q == nullptr ? nullptr : turned.data());
      if (q != nullptr) Transpose(turned.data(), columns, m, q);
      for (int64_t i = 0; i < columns; ++i) {
        for (int64_t j = 0; j < n; ++j)
          r[i * n + j] = j >= i && i < m ? work[j * m + i] : T(0);
      }
      return;
    }
    if (std::max({m, n, columns}) <= kMostReflected && AreOrdinary(a, m * n))
      return SmallQr(a, m, n, columns, q, r);
  }
  using W = Work<T>;
  Matrix<W> upper = Read<W>(a, m, n), orthogonal;
  Reflect<W>(upper, columns, q == nullptr ? nullptr : &orthogonal);
  if (q != nullptr) Write(orthogonal, q);
  Write(upper, r);
  const int64_t k = upper.rows();
  std::fill(r + k * n, r + columns * n, T(0));
}

template <typename T>
bool FullRankLeastSquares(const T* a, const T* b, int64_t m, int64_t n,
                          int64_t k, T* x) {
  using W = Work<T>;
  Matrix<W> r = Read<W>(a, m, n), y = Read<W>(b, m, k), q;
  if (m < n) {  // x = Q R^-H b, of the adjoint
    r = r.adjoint().eval();
    Reflect<W>(r, m, &q);
    if (!SolveUpper<W>(r, true, y)) return false;
    y = (q * y).eval();
  } else {
    Reflect<W>(r, n, &q);
    q = q.adjoint().eval();
    y = (q * y).eval();
    if (!SolveUpper<W>(r, false, y)) return false;
  }
  Write(y, x);
  return true;
}

#define PROA_INSTANTIATE(T)                                                \
  template void Qr(const T*, int64_t, int64_t, int64_t, T*, T*);           \
  template bool FullRankLeastSquares(const T*, const T*, int64_t, int64_t, \
                                     int64_t, T*);
PROA_INSTANTIATE(float)
PROA_INSTANTIATE(double)
PROA_INSTANTIATE(std::complex<float>)
PROA_INSTANTIATE(std::complex<double>)
#undef PROA_INSTANTIATE

}  // namespace proa::inline v0::ops::dense
