// Scaling of matrices whose numbers' squares leave the range of their type.
#ifndef PROA_OPS_LINALG_LEVELING_H_
#define PROA_OPS_LINALG_LEVELING_H_

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#define EIGEN_DONT_PARALLELIZE
#include "Eigen/Core"

namespace proa::inline v0::ops::dense {

// A power of two that brings the largest number of a matrix near one, where
// squares of its numbers would leave the range of the type; else 1. Products
// with it and its inverse are exact.
template <typename R>
R LevelingOf(R largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  constexpr int kLimit = std::numeric_limits<R>::max_exponent;
  const int exponent = std::ilogb(largest);
  if (std::abs(exponent) < kLimit / 4) return 1;
  return std::ldexp(R(1), -std::clamp(exponent, 8 - kLimit, kLimit - 8));
}

template <typename M>
typename Eigen::NumTraits<typename M::Scalar>::Real Leveling(const M& a) {
  using R = typename Eigen::NumTraits<typename M::Scalar>::Real;
  if (a.size() == 0) return 1;
  return LevelingOf<R>(a.cwiseAbs().maxCoeff());
}

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_LEVELING_H_
