// Kernels of determinants and inverses, with Eigen. A row-major matrix is read
// as a column-major one, its transpose: that has the same determinant, and the
// transpose of its inverse (of its cofactors) is written back the same way.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/linalg/blas_loops.h"
#include "ops/linalg/factor_loops.h"
#include "ops/linalg/inverse_kernels.h"
#include "ops/linalg/lapack.h"
#include "ops/linalg/leveling.h"
#include "ops/linalg/small_matrix.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

#define EIGEN_DONT_PARALLELIZE
#include "Eigen/Core"
#include "Eigen/LU"

namespace proa::inline v0::ops::cpu {
namespace {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T>
using ConstMap = Eigen::Map<const Matrix<T>>;
template <typename T>
using Map = Eigen::Map<Matrix<T>>;

template <typename T>
using Real = typename Eigen::NumTraits<T>::Real;
// What products of many pivots are kept in: the range of float is soon left.
template <typename T>
using Wide = std::conditional_t<Eigen::NumTraits<T>::IsComplex,
                                std::complex<double>, double>;

template <typename T>
constexpr bool kFactored =
    std::is_same_v<Real<T>, float> || std::is_same_v<Real<T>, double>;

template <typename T>
T NaN() {
  constexpr auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
  if constexpr (Eigen::NumTraits<T>::IsComplex) {
    return T(nan, nan);
  } else {
    return nan;
  }
}

// Eigen's own looks at one number after the other.
template <typename T>
bool HasNaN(const ConstMap<T>& a) {
  constexpr int kParts = sizeof(T) / sizeof(Real<T>);
  const Eigen::Map<const Eigen::Array<Real<T>, Eigen::Dynamic, 1>> parts(
      reinterpret_cast<const Real<T>*>(a.data()), a.size() * kParts);
  // Of infinity that is NaN too.
  return std::isnan((parts * Real<T>(0)).sum()) && a.hasNaN();
}

// Calls f(index, matrix) for each matrix of x, whose elements are dense, in
// parallel.
template <typename F>
void ForEachMatrix(const Tensor& x, F&& f) {
  const int rank = x.rank();
  const int64_t n = x.size(rank - 1);
  int64_t count = 1;
  for (int d = 0; d + 2 < rank; ++d) count *= x.size(d);
  // About 30 us of work; n is clamped so that its cube stays in range.
  const int64_t m = std::min<int64_t>(n, 64);
  const int64_t grain = 1 + 30000 / (m * m * m + 1);
  VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (IsDifferentiable(kDTypeOf<T>)) {
      if constexpr (kFactored<T>) {
        parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            f(i, ConstMap<T>(x.data<T>() + i * n * n, n, n));
          }
        });
      }
    }
  });
}

// LU of a matrix; of an empty one (which Eigen refuses) nothing. Small and
// large real ones are taken as they lie, the latter by blocks; large complex
// ones go through LAPACK.
template <typename T>
class Factors {
 public:
  explicit Factors(const ConstMap<T>& a) : size_(a.rows()) {
    if (dense::IsSmall<T>(size_)) {
      std::copy_n(a.data(), size_ * size_, small_);
      dense::VisitSmall<T>(size_, [&]<int kN>(std::integral_constant<int, kN>) {
        return dense::SmallLu<kN>(small_, small_swaps_);
      });
      return;
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (size_ >= kLeastForBlocks) {
        by_blocks_ = a;
        swaps_.resize(size_);
        FindFactorLoops<T>().lu(by_blocks_.data(), size_, size_, swaps_.data());
        return;
      }
    }
    if (size_ == 0) return;
    if constexpr (Eigen::NumTraits<T>::IsComplex) {
      if (size_ >= kLeastForLapack && dense::AreOrdinary(a.data(), a.size())) {
        by_blocks_ = a;
        swaps_.resize(size_);
        lapack::Lu(size_, size_, by_blocks_.data(), swaps_.data());
        for (int32_t& swap : swaps_) --swap;
        return;
      }
    }
    // Eigen divides complex numbers by the squares of their parts.
    if constexpr (Eigen::NumTraits<T>::IsComplex) level_ = dense::Leveling(a);
    if (level_ == 1) {
      lu_.compute(a);
    } else {
      lu_.compute(a * T(level_));
    }
  }
  int sign() const {
    int sign = 1;
    const int32_t* const swaps =
        dense::IsSmall<T>(size_) ? small_swaps_ : swaps_.data();
    if (swaps == nullptr)
      return size_ > 0 ? static_cast<int>(lu_.permutationP().determinant())
                       : sign;
    for (int64_t i = 0; i < size_; ++i) sign = swaps[i] != i ? -sign : sign;
    return sign;
  }
  int64_t size() const { return size_; }
  T Pivot(int64_t i) const {
    if (dense::IsSmall<T>(size_)) return small_[i * (size_ + 1)];
    return (swaps_.empty() ? lu_.matrixLU() : by_blocks_)(i, i) * T(1 / level_);
  }

  // If no pivot is 0.
  void WriteInverse(Map<T> out) const {
    if (dense::IsSmall<T>(size_)) {
      T* const x = out.data();
      out.setIdentity();
      dense::VisitSmall<T>(size_, [&]<int kN>(std::integral_constant<int, kN>) {
        dense::SwapRows<kN, false>(small_swaps_, x, kN);
        dense::SolveSmallTriangle<kN, false, false>(small_, x, kN);
        dense::SolveSmallTriangle<kN, true, false>(small_, x, kN);
        return true;
      });
      return;
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (!swaps_.empty()) {
        const FactorLoops<T>& loops = FindFactorLoops<T>();
        const T* const lu = by_blocks_.data();
        T* const x = out.data();
        out.setIdentity();
        for (int64_t i = 0; i < size_; ++i) {
          if (swaps_[i] != i)
            std::swap_ranges(x + i * size_, x + (i + 1) * size_,
                             x + swaps_[i] * size_);
        }
        loops.solve({lu, size_, 1, false, true}, size_, x, size_);
        loops.solve({lu, size_, 1, true, false}, size_, x, size_);
        return;
      }
    }
    if constexpr (Eigen::NumTraits<T>::IsComplex) {
      if (!swaps_.empty()) {
        const BlasLoops<T>& loops = FindBlasLoops<T>();
        out.setIdentity();
        for (int64_t j = 0; j < size_; ++j) {
          for (int64_t i = 0; i < size_; ++i)
            std::swap(out(i, j), out(swaps_[i], j));
        }
        for (const bool upper : {false, true})
          loops.trsm(true, upper, Form::kAsIs, !upper, size_, size_, T(1),
                     by_blocks_.data(), size_, out.data(), size_);
        return;
      }
    }
    out = lu_.inverse();
    if (level_ != 1) out *= T(level_);
  }

 private:
  static constexpr int64_t kLeastForBlocks = 64, kLeastForLapack = 16;
  int64_t size_;
  Real<T> level_ = 1;
  Eigen::PartialPivLU<Matrix<T>> lu_;
  Matrix<T> by_blocks_;  // rows, and with which each was swapped
  std::vector<int32_t> swaps_;
  T small_[dense::kMostSmall<T> * dense::kMostSmall<T>];
  int32_t small_swaps_[dense::kMostSmall<T>];
};

// "inverse: the matrix at [1, 0] of the batch is singular; x is ..."
[[noreturn]] void FailSingular(const Tensor& x, int64_t index) {
  if (x.rank() == 2) {
    FailArgument("inverse: the matrix is singular; x is ", Describe(x));
  }
  std::string place;
  for (int d = x.rank() - 3; d >= 0; --d) {
    place =
        std::to_string(index % x.size(d)) + (place.empty() ? "" : ", ") + place;
    index /= x.size(d);
  }
  FailArgument("inverse: the matrix at [", place,
               "] of the batch is singular; x is ", Describe(x));
}

// The adjugate of `a`, transposed: with P a Q = L U it is det(P) det(Q) Q
// adj(U) L^-1 P, and of U = [[V, u], [0, e]] it is det(V) [[e V^-1, -V^-1 u],
// [0, 1]]. No division by e, which is what makes `a` singular; if V is singular
// too, all cofactors are 0.
template <typename T>
void CofactorsOf(const ConstMap<T>& a, Map<T> out) {
  const int64_t n = a.rows();
  const Eigen::FullPivLU<Matrix<T>> lu(a);
  const Matrix<T>& f = lu.matrixLU();
  Wide<T> scale = static_cast<double>(lu.permutationP().determinant() *
                                      lu.permutationQ().determinant());
  for (int64_t i = 0; i + 1 < n; ++i) scale *= Wide<T>(f(i, i));
  if (scale == Wide<T>(0)) {
    out.setZero();
    return;
  }
  Matrix<T> w = lu.permutationP() * Matrix<T>::Identity(n, n);
  f.template triangularView<Eigen::UnitLower>().solveInPlace(w);
  if (n > 1) {
    const Matrix<T> outer = f.col(n - 1).head(n - 1) * w.row(n - 1);
    Matrix<T> top = f(n - 1, n - 1) * w.topRows(n - 1) - outer;
    f.topLeftCorner(n - 1, n - 1)
        .template triangularView<Eigen::Upper>()
        .solveInPlace(top);
    w.topRows(n - 1) = top;
  }
  const Matrix<T> adjugate = lu.permutationQ() * w;
  out = adjugate.transpose() * T(scale);
}

}  // namespace

void Det(const KernelContext&, const Tensor& x, Tensor* out) {
  ForEachMatrix(x, [&]<typename T>(int64_t i, const ConstMap<T>& a) {
    T& det = out->data<T>()[i];
    if (HasNaN(a)) {
      det = NaN<T>();
      return;
    }
    const Factors<T> factors(a);
    Wide<T> product = static_cast<double>(factors.sign());
    for (int64_t k = 0; k < factors.size(); ++k)
      product *= Wide<T>(factors.Pivot(k));
    det = T(product);
  });
}

void Cofactor(const KernelContext&, const Tensor& x, Tensor* out) {
  if (out->numel() == 0) return;
  ForEachMatrix(x, [&]<typename T>(int64_t i, const ConstMap<T>& a) {
    Map<T> result(out->data<T>() + i * a.size(), a.rows(), a.cols());
    if (HasNaN(a)) {
      result.setConstant(NaN<T>());
    } else {
      CofactorsOf<T>(a, result);
    }
  });
}

void Inverse(const KernelContext&, const Tensor& x, Tensor* out) {
  if (out->numel() == 0) return;
  ForEachMatrix(x, [&]<typename T>(int64_t i, const ConstMap<T>& a) {
    Map<T> result(out->data<T>() + i * a.size(), a.rows(), a.cols());
    if (HasNaN(a)) {
      result.setConstant(NaN<T>());
      return;
    }
    const Factors<T> factors(a);
    for (int64_t k = 0; k < factors.size(); ++k)
      if (factors.Pivot(k) == T(0)) FailSingular(x, i);
    factors.WriteInverse(result);
  });
}

void SignLogDet(const KernelContext&, const Tensor& x, Tensor* sign,
                Tensor* logabsdet) {
  ForEachMatrix(x, [&]<typename T>(int64_t i, const ConstMap<T>& a) {
    T& s = sign->data<T>()[i];
    Real<T>& l = logabsdet->data<Real<T>>()[i];
    if (HasNaN(a)) {
      s = NaN<T>();
      l = NaN<Real<T>>();
      return;
    }
    const Factors<T> factors(a);
    Wide<T> unit = static_cast<double>(factors.sign());
    double sum = 0;
    for (int64_t k = 0; k < factors.size(); ++k) {
      const Wide<T> pivot(factors.Pivot(k));
      const double size = std::abs(pivot);
      if (size == 0) {
        unit = 0;
        sum = -std::numeric_limits<double>::infinity();
        break;
      }
      unit *= pivot / size;
      sum += std::log(size);
    }
    s = T(unit);
    l = static_cast<Real<T>>(sum);
  });
}

}  // namespace proa::inline v0::ops::cpu
