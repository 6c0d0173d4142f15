// Matrices of the decompositions: Eigen's, and views of dense row-major memory.
// A decomposition of Eigen takes long to compile for a type, so complex64 goes
// through complex128 there; large complex ones are LAPACK's (lapack.h). Heavy:
// for the sources of the decompositions only.
#ifndef PROA_OPS_LINALG_MATRIX_H_
#define PROA_OPS_LINALG_MATRIX_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#define EIGEN_DONT_PARALLELIZE
#include "Eigen/Core"

namespace proa::inline v0::ops::dense {

// Column-major: what Eigen's decompositions are fast with.
template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T>
using Rows = Eigen::Map<
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
template <typename T>
using ConstRows = Eigen::Map<
    const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
template <typename T>
using Real = typename Eigen::NumTraits<T>::Real;

// What complex64 is computed in.
template <typename T>
using Work = std::conditional_t<std::is_same_v<T, std::complex<float>>,
                                std::complex<double>, T>;
// [rows, columns] dense numbers as a matrix of another type, and back.
template <typename W, typename T>
Matrix<W> Read(const T* a, int64_t rows, int64_t columns) {
  return ConstRows<T>(a, rows, columns).template cast<W>();
}
template <typename T, typename M>
void Write(const M& m, T* out) {
  Rows<T>(out, m.rows(), m.cols()) = m.template cast<T>();
}
// to [n, m] = the transpose of from [m, n], both row-major, by squares that the
// nearest cache holds.
template <typename T>
void Transpose(const T* from, int64_t m, int64_t n, T* to) {
  constexpr int64_t kSide = 16;
  for (int64_t i0 = 0; i0 < m; i0 += kSide) {
    const int64_t i1 = std::min(m, i0 + kSide);
    for (int64_t j0 = 0; j0 < n; j0 += kSide) {
      const int64_t j1 = std::min(n, j0 + kSide);
      for (int64_t j = j0; j < j1; ++j)
        for (int64_t i = i0; i < i1; ++i) to[j * m + i] = from[i * n + j];
    }
  }
}

template <typename T>
T NaN() {
  constexpr auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
  if constexpr (Eigen::NumTraits<T>::IsComplex) {
    return T(nan, nan);
  } else {
    return nan;
  }
}

template <typename T>
void WriteNaN(int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = NaN<T>();
}

// The index of the largest number of a vector about of length 1, the first of
// several.
template <typename V>
int64_t LargestOf(const V& v) {
  int64_t best = 0;
  auto most = std::norm(v(0));
  for (int64_t i = 1; i < v.size(); ++i) {
    const auto square = std::norm(v(i));
    if (square > most) {
      best = i;
      most = square;
    }
  }
  return best;
}

// What to multiply a vector with so that its largest number becomes real and
// positive; 1 for zeros.
template <typename V>
typename V::Scalar PhaseOf(const V& v, int64_t largest) {
  const auto size = std::abs(v(largest));
  if (!(size > 0)) return typename V::Scalar(1);
  return Eigen::numext::conj(v(largest)) / size;
}

// Multiplies column j so; its largest number is then exactly real.
template <typename T>
T FixPhase(Matrix<T>& m, int64_t j) {
  auto column = m.col(j);
  const int64_t largest = LargestOf(column);
  const T phase = PhaseOf(column, largest);
  column *= phase;
  column(largest) = std::abs(column(largest));
  return phase;
}

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_MATRIX_H_
