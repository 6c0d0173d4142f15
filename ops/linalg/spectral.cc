#include "ops/linalg/spectral.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "ops/linalg/blas_loops.h"
#include "ops/linalg/factor_loops.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/leveling.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/tridiagonal.h"
#include "ops/linalg/tridiagonal_loops.h"

namespace proa::inline v0::ops::dense {
namespace {

// NaN or infinity in the triangle that is read.
template <typename T>
bool IsTriangleFinite(const T* a, int64_t n, bool upper) {
  for (int64_t i = 0; i < n; ++i) {
    const ConstRows<T> row(a + i * n + (upper ? i : 0), 1,
                           upper ? n - i : i + 1);
    if (!row.allFinite()) return false;
  }
  return true;
}

// Of the Hermitian matrix of a triangle. A row-major matrix is the transpose
// for LAPACK, and so the conjugate: of that are the eigenvectors.
template <typename T>
bool Decompose(const T* a, int64_t n, bool upper, RealOf<T>* w,
               Matrix<T>* conjugate_vectors, bool vectors) {
  *conjugate_vectors = Eigen::Map<const Matrix<T>>(a, n, n);
  return lapack::HermitianEigen<T>(n, !upper, vectors,
                                   conjugate_vectors->data(), w);
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

}  // namespace

template <typename T>
bool Hermitian(const T* a, int64_t n, bool upper, RealOf<T>* w, T* v) {
  if constexpr (std::is_floating_point_v<T>) {
    if (v == nullptr) return SymmetricValues(a, n, upper, w);
  }
  if (!IsTriangleFinite(a, n, upper)) {
    WriteNaN(n, w);
    if (v != nullptr) WriteNaN(n * n, v);
    return true;
  }
  Matrix<T> vectors;
  if (!Decompose(a, n, upper, w, &vectors, v != nullptr)) return false;
  if (v == nullptr) return true;
  if constexpr (Eigen::NumTraits<T>::IsComplex)
    vectors = vectors.conjugate().eval();
  for (int64_t j = 0; j < n; ++j) FixPhase(vectors, j);
  if constexpr (Eigen::NumTraits<T>::IsComplex) {
    Write(vectors, v);
  } else {
    FindFactorLoops<T>().transpose(vectors.data(), n, n, v);
  }
  return true;
}

template <typename T>
bool HermitianPseudoInverse(const T* a, int64_t n, double rcond, T* out) {
  if (!IsTriangleFinite(a, n, false)) {
    WriteNaN(n * n, out);
    return true;
  }
  std::vector<RealOf<T>> w(n);
  Matrix<T> v;
  if (!Decompose(a, n, false, w.data(), &v, true)) return false;
  const double largest =
      std::max(std::abs(double{w[0]}), std::abs(double{w[n - 1]}));
  Matrix<T> scaled(n, n);
  for (int64_t j = 0; j < n; ++j) {
    const bool counts = std::abs(w[j]) > rcond * largest;
    scaled.col(j) = v.col(j) * (counts ? 1 / w[j] : RealOf<T>(0));
  }
  // Its transpose, of conjugate vectors.
  FindBlasLoops<T>().gemm(Form::kAsIs, Form::kAdjoint, n, n, n, T(1),
                          scaled.data(), n, v.data(), n, T(0), out, n);
  return true;
}

template <typename T>
bool General(const T* a, int64_t n, std::complex<RealOf<T>>* w,
             std::complex<RealOf<T>>* v) {
  using C = std::complex<RealOf<T>>;
  Matrix<T> from = Read<T>(a, n, n);
  if (!from.allFinite()) {
    WriteNaN(n, w);
    if (v != nullptr) WriteNaN(n * n, v);
    return true;
  }
  std::vector<C> values(n);
  Matrix<C> vectors;
  if (v != nullptr) vectors.resize(n, n);
  if (!lapack::GeneralEigen<T>(n, from.data(), values.data(),
                               v == nullptr ? nullptr : vectors.data())) {
    return false;
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return values[i].real() != values[j].real()
               ? values[i].real() < values[j].real()
               : values[i].imag() < values[j].imag();
  });
  for (int64_t i = 0; i < n; ++i) w[i] = values[order[i]];
  if (v == nullptr) return true;
  for (int64_t j = 0; j < n; ++j) FixPhase(vectors, j);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) v[i * n + j] = vectors(i, order[j]);
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
