#include "ops/linalg/spectral.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "ops/linalg/factor_loops.h"
#include "ops/linalg/leveling.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/tridiagonal.h"
#include "ops/linalg/tridiagonal_loops.h"

#include "Eigen/Eigenvalues"

namespace proa::inline v0::ops::dense {
namespace {

template <typename W>
using Values = Eigen::Matrix<Real<W>, Eigen::Dynamic, 1>;

// NaN or infinity in the triangle that is read.
template <typename W>
bool IsLowerFinite(const Matrix<W>& a) {
  for (int64_t j = 0; j < a.cols(); ++j) {
    if (!a.col(j).tail(a.rows() - j).allFinite()) return false;
  }
  return true;
}

// Of the lower triangle; not inlined, since it takes long to compile.
template <typename W>
[[gnu::noinline]] bool Decompose(const Matrix<W>& a, Values<W>* w,
                                 Matrix<W>* v) {
  const Eigen::SelfAdjointEigenSolver<Matrix<W>> solver(
      a, v != nullptr ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  if (solver.info() != Eigen::Success) return false;
  *w = solver.eigenvalues();
  if (v != nullptr) *v = solver.eigenvectors();
  return true;
}

// Eigenvalues alone of a real symmetric matrix.
template <typename T>
bool SymmetricValues(const T* a, int64_t n, bool upper, T* w) {
  std::vector<T> turned(upper ? n * n : 0), beside(n);
  if (upper) {
    FindFactorLoops<T>().transpose(a, n, n, turned.data());
    a = turned.data();
  }
  const TridiagonalLoops<T>& loops = FindTridiagonalLoops<T>();
  const T largest = loops.largest(a, n);
  if (std::isnan(largest)) {
    WriteNaN(n, w);
    return true;
  }
  const T level = LevelingOf(largest);
  loops.reduce(a, n, level, w, beside.data());
  if (!TridiagonalValues(w, beside.data(), n)) return false;
  for (int64_t i = 0; i < n; ++i) w[i] /= level;
  return true;
}

using C = std::complex<double>;

template <typename W>
[[gnu::noinline]] bool DecomposeGeneral(const Matrix<W>& a, Eigen::VectorXcd* w,
                                        Matrix<C>* v) {
  using Solver = std::conditional_t<Eigen::NumTraits<W>::IsComplex,
                                    Eigen::ComplexEigenSolver<Matrix<W>>,
                                    Eigen::EigenSolver<Matrix<W>>>;
  const Real<W> level = Leveling(a);
  const Solver solver(level == 1 ? a : Matrix<W>(a * level), v != nullptr);
  if (solver.info() != Eigen::Success) return false;
  *w = solver.eigenvalues() / level;
  if (v != nullptr) *v = solver.eigenvectors();
  return true;
}

}  // namespace

template <typename T>
bool Hermitian(const T* a, int64_t n, bool upper, RealOf<T>* w, T* v) {
  if constexpr (std::is_floating_point_v<T>) {
    if (v == nullptr) return SymmetricValues(a, n, upper, w);
  }
  using W = Work<T>;
  Matrix<W> from = Read<W>(a, n, n);
  if (upper) from = from.adjoint().eval();
  if (!IsLowerFinite(from)) {
    WriteNaN(n, w);
    if (v != nullptr) WriteNaN(n * n, v);
    return true;
  }
  Values<W> values;
  Matrix<W> vectors;
  if (!Decompose<W>(from, &values, v == nullptr ? nullptr : &vectors)) {
    return false;
  }
  Write(values, w);
  if (v == nullptr) return true;
  for (int64_t j = 0; j < n; ++j) FixPhase(vectors, j);
  Write(vectors, v);
  return true;
}

template <typename T>
bool HermitianPseudoInverse(const T* a, int64_t n, double rcond, T* out) {
  using W = Work<T>;
  const Matrix<W> from = Read<W>(a, n, n);
  if (!IsLowerFinite(from)) {
    WriteNaN(n * n, out);
    return true;
  }
  Values<W> values;
  Matrix<W> v;
  if (!Decompose<W>(from, &values, &v)) return false;
  const double cutoff = rcond * values.cwiseAbs().maxCoeff();
  const Matrix<W> adjoint = v.adjoint();
  for (int64_t i = 0; i < n; ++i) {
    v.col(i) *= std::abs(values(i)) > cutoff ? 1 / values(i) : Real<W>(0);
  }
  const Matrix<W> product = v * adjoint;
  Write(product, out);
  return true;
}

template <typename T>
bool General(const T* a, int64_t n, std::complex<RealOf<T>>* w,
             std::complex<RealOf<T>>* v) {
  using W = Wide<T>;
  const Matrix<W> from = Read<W>(a, n, n);
  if (!from.allFinite()) {
    WriteNaN(n, w);
    if (v != nullptr) WriteNaN(n * n, v);
    return true;
  }
  Eigen::VectorXcd values;
  Matrix<C> vectors;
  if (!DecomposeGeneral<W>(from, &values, v == nullptr ? nullptr : &vectors)) {
    return false;
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return values(i).real() != values(j).real()
               ? values(i).real() < values(j).real()
               : values(i).imag() < values(j).imag();
  });
  using Narrow = std::complex<RealOf<T>>;
  for (int64_t i = 0; i < n; ++i) w[i] = Narrow(values(order[i]));
  if (v == nullptr) return true;
  for (int64_t j = 0; j < n; ++j) {
    auto column = vectors.col(j);
    const double length = column.norm();
    if (length > 0) column /= length;
    FixPhase(vectors, j);
  }
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) v[i * n + j] = Narrow(vectors(i, order[j]));
  }
  return true;
}

#define PROA_INSTANTIATE(T)                                          \
  template bool Hermitian(const T*, int64_t, bool, RealOf<T>*, T*);  \
  template bool General(const T*, int64_t, std::complex<RealOf<T>>*, \
                        std::complex<RealOf<T>>*);                   \
  template bool HermitianPseudoInverse(const T*, int64_t, double, T*);
PROA_INSTANTIATE(float)
PROA_INSTANTIATE(double)
PROA_INSTANTIATE(std::complex<float>)
PROA_INSTANTIATE(std::complex<double>)
#undef PROA_INSTANTIATE

}  // namespace proa::inline v0::ops::dense
