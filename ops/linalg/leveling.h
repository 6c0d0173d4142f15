// Scaling of matrices whose numbers' squares leave the range of their type.
#ifndef PROA_OPS_LINALG_LEVELING_H_
#define PROA_OPS_LINALG_LEVELING_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>

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

// The same of `count` numbers, by the largest of their parts; 0 if one is NaN
// or infinite.
template <typename T>
auto LevelingOfParts(const T* a, int64_t count) {
  using R = typename Eigen::NumTraits<T>::Real;
  using Bits = std::conditional_t<sizeof(R) == 4, uint32_t, uint64_t>;
  const R* const parts = reinterpret_cast<const R*>(a);
  constexpr int64_t kParts = sizeof(T) / sizeof(R);
  // Of all without signs, as integers: those of NaN are larger than infinity's.
  Bits largest = 0;
  for (int64_t i = 0; i < count * kParts; ++i) {
    largest =
        std::max(largest, std::bit_cast<Bits>(parts[i]) & (~Bits(0) >> 1));
  }
  const R size = std::bit_cast<R>(largest);
  return std::isfinite(size) ? LevelingOf<R>(size) : R(0);
}
template <typename T>
bool AreOrdinary(const T* a, int64_t count) {
  return LevelingOfParts(a, count) == 1;
}

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_LEVELING_H_
