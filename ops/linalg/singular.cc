#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "ops/linalg/factor_loops.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/orthogonal.h"
#include "ops/linalg/spectral.h"

#include "Eigen/SVD"

namespace proa::inline v0::ops::dense {
namespace {

using Values = Eigen::VectorXd;

// a = u diag(s) v^H, with u and v null if they are not wanted. Not inlined,
// since it takes long to compile.
template <typename W>
[[gnu::noinline]] bool Decompose(const Matrix<W>& a, bool full, Matrix<W>* u,
                                 Values* s, Matrix<W>* v) {
  unsigned options = 0;
  if (u != nullptr) {
    options = full ? Eigen::ComputeFullU | Eigen::ComputeFullV
                   : Eigen::ComputeThinU | Eigen::ComputeThinV;
  }
  const Eigen::BDCSVD<Matrix<W>> svd(a, options);
  if (svd.info() != Eigen::Success) return false;
  *s = svd.singularValues();
  if (u != nullptr) {
    *u = svd.matrixU();
    *v = svd.matrixV();
  }
  return true;
}

// v diag(1 / s) and u^H of the singular values that are more than rcond times
// the largest; false if there is no convergence.
template <typename W>
bool Invert(const Matrix<W>& a, double rcond, Matrix<W>* scaled_v,
            Matrix<W>* u_adjoint, Values* s) {
  Matrix<W> u, v;
  if (!Decompose<W>(a, false, &u, s, &v)) return false;
  const double cutoff = rcond * (*s)(0);
  int64_t rank = 0;
  while (rank < s->size() && (*s)(rank) > cutoff) ++rank;
  *scaled_v = v.leftCols(rank);
  for (int64_t j = 0; j < rank; ++j) scaled_v->col(j) /= (*s)(j);
  *u_adjoint = u.leftCols(rank).adjoint();
  return true;
}

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
  using W = Wide<T>;
  const Matrix<W> from = Read<W>(a, m, n);
  const int64_t columns = full ? m : k, rows = full ? n : k;
  if (!from.allFinite()) {
    WriteNaN(k, s);
    if (u == nullptr) return true;
    WriteNaN(m * columns, u);
    WriteNaN(rows * n, vh);
    return true;
  }
  Values values;
  Matrix<W> left, right;
  const bool vectors = u != nullptr;
  if (!Decompose<W>(from, full, vectors ? &left : nullptr, &values, &right)) {
    return false;
  }
  Write(values, s);
  if (!vectors) return true;
  for (int64_t j = 0; j < columns; ++j) {
    const W phase = FixPhase(left, j);
    if (j < k) right.col(j) *= phase;
  }
  for (int64_t j = k; j < rows; ++j) FixPhase(right, j);
  Write(left, u);
  const Matrix<W> adjoint = right.adjoint();
  Write(adjoint, vh);
  return true;
}

template <typename T>
bool PseudoInverse(const T* a, int64_t m, int64_t n, double rcond, T* out) {
  if (FullRankPseudoInverse(a, m, n, rcond, out)) return true;
  using W = Wide<T>;
  const Matrix<W> from = Read<W>(a, m, n);
  if (!from.allFinite()) {
    WriteNaN(m * n, out);
    return true;
  }
  Matrix<W> v, u;
  Values s;
  if (!Invert<W>(from, rcond, &v, &u, &s)) return false;
  Matrix<W> product = Matrix<W>::Zero(n, m);
  if (v.cols() > 0) product.noalias() = v * u;
  Write(product, out);
  return true;
}

template <typename T>
bool LeastSquares(const T* a, const T* b, int64_t m, int64_t n, int64_t k,
                  double rcond, T* x, RealOf<T>* s, int32_t* rank) {
  using W = Wide<T>;
  const Matrix<W> from = Read<W>(a, m, n);
  if (!from.allFinite()) {
    WriteNaN(n * k, x);
    if (s != nullptr) WriteNaN(std::min(m, n), s);
    *rank = static_cast<int32_t>(std::min(m, n));
    return true;
  }
  Matrix<W> v, u;
  Values values;
  if (!Invert<W>(from, rcond, &v, &u, &values)) return false;
  *rank = static_cast<int32_t>(v.cols());
  if (s != nullptr) Write(values, s);
  Matrix<W> found = Matrix<W>::Zero(n, k);
  if (v.cols() > 0) {
    const Matrix<W> right = Read<W>(b, m, k), inner = u * right;
    found.noalias() = v * inner;
  }
  Write(found, x);
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
