#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "ops/linalg/blas_loops.h"
#include "ops/linalg/factor_loops.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/orthogonal.h"
#include "ops/linalg/spectral.h"

namespace proa::inline v0::ops::dense {
namespace {

// u [m, min(m, n)], or [m, m] if `full`, and vh, all row-major, which for
// LAPACK are the transposes of those of the transpose.
template <typename T>
bool Decompose(const T* a, int64_t m, int64_t n, bool full, T* u, RealOf<T>* s,
               T* vh) {
  std::vector<T> from(a, a + m * n);
  return lapack::Singular<T>(n, m, full, from.data(), s, vh, u);
}

// The largest number of each column of u becomes real and positive; so do those
// of the rows of vh that have none.
template <typename T>
void FixPhases(int64_t m, int64_t columns, int64_t n, int64_t rows, T* u,
               T* vh) {
  Rows<T> left(u, m, columns), right(vh, rows, n);
  std::vector<int64_t> largest(columns);
  std::vector<RealOf<T>> most(columns, 0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const RealOf<T> square = std::norm(u[i * columns + j]);
      if (square > most[j]) {
        most[j] = square;
        largest[j] = i;
      }
    }
  }
  std::vector<T> phases(columns);
  for (int64_t j = 0; j < columns; ++j) {
    phases[j] = PhaseOf(left.col(j), largest[j]);
    if (j < rows && phases[j] != T(1))
      right.row(j) *= Eigen::numext::conj(phases[j]);
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < columns; ++j) u[i * columns + j] *= phases[j];
  for (int64_t j = 0; j < columns; ++j) {
    T& x = u[largest[j] * columns + j];
    x = std::abs(x);
  }
  for (int64_t j = columns; j < rows; ++j) {
    auto row = right.row(j);
    const int64_t at = LargestOf(row);
    row *= PhaseOf(row, at);
    row(at) = std::abs(row(at));
  }
}

// u [m, k], s and vh [k, n] of a, and how many singular values are more than
// rcond times the largest; -1 if there is no convergence.
template <typename T>
struct Factors {
  Factors(const T* a, int64_t m, int64_t n, double rcond)
      : k(std::min(m, n)), u(m * k), vh(k * n), s(k) {
    if (!Decompose(a, m, n, false, u.data(), s.data(), vh.data())) return;
    rank = 0;
    while (rank < k && s[rank] > rcond * s[0]) ++rank;
  }
  int64_t k;
  std::vector<T> u, vh;
  std::vector<RealOf<T>> s;
  int64_t rank = -1;
};

// The singular values of float32 as roots of the eigenvalues of a^T a in
// float64, whose errors (1e-8 of the largest) are below those of a float32
// decomposition.
bool ValuesByRoots(const float* a, int64_t m, int64_t n, float* s) {
  const int64_t k = std::min(m, n), all = std::max(m, n);
  std::vector<double> tall(a, a + m * n);
  const FactorLoops<double>& loops = FindFactorLoops<double>();
  if (m < n) {
    std::vector<double> turned(m * n);
    loops.transpose(tall.data(), m, n, turned.data());
    tall.swap(turned);
  }
  std::vector<double> squares(k * k), values(k);
  loops.gram(tall.data(), all, k, squares.data());
  if (!Hermitian<double>(squares.data(), k, true, values.data(), nullptr))
    return false;
  for (int64_t i = 0; i < k; ++i) {
    const double square = values[k - 1 - i];
    s[i] = static_cast<float>(std::sqrt(square < 0 ? 0 : square));
  }
  return true;
}

}  // namespace

template <typename T>
bool Svd(const T* a, int64_t m, int64_t n, bool full, T* u, RealOf<T>* s,
         T* vh) {
  const int64_t k = std::min(m, n);
  if constexpr (std::is_same_v<T, float>) {
    constexpr int64_t kLeastForRoots = 32;
    if (u == nullptr && k >= kLeastForRoots) return ValuesByRoots(a, m, n, s);
  }
  const int64_t columns = full ? m : k, rows = full ? n : k;
  if (!ConstRows<T>(a, m, n).allFinite()) {
    WriteNaN(k, s);
    if (u == nullptr) return true;
    WriteNaN(m * columns, u);
    WriteNaN(rows * n, vh);
    return true;
  }
  if (!Decompose(a, m, n, full, u, s, vh)) return false;
  if (u != nullptr) FixPhases(m, columns, n, rows, u, vh);
  return true;
}

template <typename T>
bool PseudoInverse(const T* a, int64_t m, int64_t n, double rcond, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (FullRankPseudoInverse(a, m, n, rcond, out)) return true;
  }
  if (!ConstRows<T>(a, m, n).allFinite()) {
    WriteNaN(m * n, out);
    return true;
  }
  Factors<T> f(a, m, n, rcond);
  if (f.rank < 0) return false;
  Rows<T> right(f.vh.data(), f.k, n);
  for (int64_t j = 0; j < f.rank; ++j) right.row(j) /= f.s[j];
  // The transpose of the product of adjoints, of transposes.
  FindBlasLoops<T>().gemm(Form::kAdjoint, Form::kAdjoint, m, n, f.rank, T(1),
                          f.u.data(), f.k, f.vh.data(), n, T(0), out, m);
  return true;
}

template <typename T>
bool LeastSquares(const T* a, const T* b, int64_t m, int64_t n, int64_t k,
                  double rcond, T* x, RealOf<T>* s, int32_t* rank) {
  if (!ConstRows<T>(a, m, n).allFinite()) {
    WriteNaN(n * k, x);
    if (s != nullptr) WriteNaN(std::min(m, n), s);
    *rank = static_cast<int32_t>(std::min(m, n));
    return true;
  }
  const Factors<T> f(a, m, n, rcond);
  if (f.rank < 0) return false;
  *rank = static_cast<int32_t>(f.rank);
  if (s != nullptr) std::copy(f.s.begin(), f.s.end(), s);
  // As above: x^T = b^T conj(u) / s conj(vh).
  const BlasLoops<T>& loops = FindBlasLoops<T>();
  std::vector<T> inner(k * f.rank);
  loops.gemm(Form::kAsIs, Form::kAdjoint, k, f.rank, m, T(1), b, k, f.u.data(),
             f.k, T(0), inner.data(), k);
  Rows<T> scaled(inner.data(), f.rank, k);
  for (int64_t j = 0; j < f.rank; ++j) scaled.row(j) /= f.s[j];
  loops.gemm(Form::kAsIs, Form::kAdjoint, k, n, f.rank, T(1), inner.data(), k,
             f.vh.data(), n, T(0), x, k);
  return true;
}

#define PROA_INSTANTIATE(T)                                                 \
  template bool Svd(const T*, int64_t, int64_t, bool, T*, RealOf<T>*, T*);  \
  template bool PseudoInverse(const T*, int64_t, int64_t, double, T*);      \
  template bool LeastSquares(const T*, const T*, int64_t, int64_t, int64_t, \
                             double, T*, RealOf<T>*, int32_t*);
PROA_INSTANTIATE(float)
PROA_INSTANTIATE(double)
PROA_INSTANTIATE(std::complex<float>)
PROA_INSTANTIATE(std::complex<double>)
#undef PROA_INSTANTIATE

}  // namespace proa::inline v0::ops::dense
