#include "ops/linalg/full_rank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/linalg/factor_loops.h"
#include "ops/linalg/orthogonal.h"

namespace proa::inline v0::ops::dense {
namespace {

// By the Gram matrix in float64 half of the digits may be lost, which float32
// does not have; by a factor the result is as exact as by singular values. One
// of float32 is so to five digits.
constexpr double kMostOfGram = 1e4, kMostOfFactor = 1e10, kMostInFloat = 1e3;
// Where the square of the condition is lost of float64's digits, and those of
// float32 are wanted.
constexpr double kMostOfSquare = 1e4;

// Of a condition, the largest singular value by the least, or half of it:
// whether the least is far from 0 and above rcond times the largest. False of
// NaN.
bool IsFullRank(double condition, double most, double rcond) {
  return condition <= most && condition * rcond < 0.5;
}

bool IsNearlySquare(int64_t l, int64_t k) { return k > 100 && 10 * l < 11 * k; }

template <typename T>
double NormOf(const std::vector<T>& numbers) {
  double squares = 0;
  for (const double v : numbers) squares += v * v;
  return std::sqrt(squares);
}

// About the largest singular value of an upper triangle [k, k], never more: by
// a few steps from the longest row, after which half of it is certain but for
// chance.
template <typename T>
double LargestValueOf(const std::vector<T>& upper, int64_t k) {
  constexpr int kSteps = 4;
  std::vector<double> v(k), next(k);
  double longest = -1;
  for (int64_t i = 0; i < k; ++i) {
    const T* const row = upper.data() + i * k;
    double squares = 0;
    for (int64_t j = i; j < k; ++j)
      squares += static_cast<double>(row[j]) * static_cast<double>(row[j]);
    if (squares > longest) {
      longest = squares;
      std::copy_n(row, k, v.begin());
    }
  }
  double value = std::sqrt(longest);
  for (int step = 0; step < kSteps; ++step) {
    const double length = NormOf(v);
    if (!(length > 0)) return value;
    std::fill(next.begin(), next.end(), 0.0);
    double squares = 0;
    for (int64_t i = 0; i < k; ++i) {
      const T* const row = upper.data() + i * k;
      double sums[4] = {};
      int64_t j = i;
      for (; j + 4 <= k; j += 4) {
        for (int l = 0; l < 4; ++l)
          sums[l] += static_cast<double>(row[j + l]) * v[j + l];
      }
      for (; j < k; ++j) sums[0] += static_cast<double>(row[j]) * v[j];
      const double y = ((sums[0] + sums[1]) + (sums[2] + sums[3])) / length;
      squares += y * y;
      for (j = i; j < k; ++j) next[j] += y * static_cast<double>(row[j]);
    }
    value = std::max(value, std::sqrt(squares));
    v.swap(next);
  }
  return value;
}

// The condition of the upper triangle [k, k] of r, whose rows are `row` apart:
// at least half of it, and no more than in Frobenius' norm, which is enough
// where that is `enough` or less.
template <typename T>
double ConditionOf(const FactorLoops<T>& loops, const T* r, int64_t row,
                   int64_t k, double enough) {
  std::vector<T> upper(k * k), inverse(k * k);
  for (int64_t i = 0; i < k; ++i) {
    std::copy(r + i * row + i, r + i * row + k, upper.data() + i * k + i);
    inverse[i * k + i] = 1;
  }
  loops.solve({r, row, 1, true, false}, k, inverse.data(), k);
  const double of_inverse = NormOf(inverse), most = NormOf(upper) * of_inverse;
  // In the middle of its singular values a large matrix has many, which make
  // the norm many times the largest.
  return most <= enough ? most : LargestValueOf(upper, k) * of_inverse;
}

// The largest condition that is far from what rcond takes for no full rank.
double FarFrom(double rcond) {
  return rcond > 0 ? 0.5 / rcond : std::numeric_limits<double>::infinity();
}

// With U^T U = tall^T tall, of tall [l, k], the pseudoinverse is U^-1 U^-T
// tall^T, which `turned` [k, l] becomes. `condition` gets about that of the
// matrix, or what it has at least.
bool ByGram(const std::vector<double>& tall, int64_t l, int64_t k, double rcond,
            std::vector<double>* turned, double* condition) {
  const FactorLoops<double>& loops = FindFactorLoops<double>();
  std::vector<double> u(k * k);
  loops.gram(tall.data(), l, k, u.data());
  // The square of the condition is near what double can tell from infinity.
  *condition = 1e7;
  if (const int64_t pivot = loops.cholesky(u.data(), k); pivot >= 0) {
    // Far from the last one: many columns are sums of others, so that a factor
    // would come to the same end.
    if (8 * pivot < 7 * k) *condition = std::numeric_limits<double>::infinity();
    return false;
  }
  // No less than the quotient of two numbers on the diagonal, by which it may
  // be known already.
  double most = 0, least = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < k; ++i) {
    most = std::max(most, u[i * k + i]);
    least = std::min(least, u[i * k + i]);
  }
  const double known = most >= *condition * least
                           ? *condition
                           : ConditionOf(loops, u.data(), k, k, FarFrom(rcond));
  *condition = std::min(*condition, known);
  if (!IsFullRank(*condition, kMostOfGram, rcond)) return false;
  loops.transpose(tall.data(), l, k, turned->data());
  loops.solve({u.data(), 1, k, false, false}, k, turned->data(), l);
  loops.solve({u.data(), k, 1, true, false}, k, turned->data(), l);
  return true;
}

// With Q R = tall it is R^-1 Q^T.
bool ByFactor(std::vector<double> tall, int64_t l, int64_t k, double rcond,
              std::vector<double>* turned) {
  const FactorLoops<double>& loops = FindFactorLoops<double>();
  std::vector<double> q(l * k);
  loops.qr(tall.data(), l, k, k, q.data());
  if (!IsFullRank(ConditionOf(loops, tall.data(), k, k, FarFrom(rcond)),
                  kMostOfFactor, rcond))
    return false;
  loops.transpose(q.data(), l, k, turned->data());
  loops.solve({tall.data(), k, 1, true, false}, k, turned->data(), l);
  return true;
}

// Of a square matrix it is the inverse: a third of the work.
bool ByInverse(const std::vector<double>& a, int64_t k, double rcond,
               std::vector<double>* inverse) {
  const FactorLoops<double>& loops = FindFactorLoops<double>();
  std::vector<double> lu = a;
  std::vector<int32_t> swaps(k);
  if (loops.lu(lu.data(), k, k, swaps.data()) != 0) return false;
  std::vector<double> found(k * k);
  for (int64_t i = 0; i < k; ++i) found[i * k + i] = 1;
  for (int64_t i = 0; i < k; ++i) {
    double* const row = found.data() + i * k;
    std::swap_ranges(row, row + k, found.data() + swaps[i] * k);
  }
  loops.solve({lu.data(), k, 1, false, true}, k, found.data(), k);
  loops.solve({lu.data(), k, 1, true, false}, k, found.data(), k);
  if (!IsFullRank(NormOf(a) * NormOf(found), kMostOfFactor, rcond))
    return false;
  inverse->swap(found);
  return true;
}

template <typename T>
bool OfReal(const T* a, int64_t m, int64_t n, double rcond, T* out) {
  const FactorLoops<double>& loops = FindFactorLoops<double>();
  const bool is_tall = m >= n;
  const int64_t l = std::max(m, n), k = std::min(m, n);
  // The condition of a large matrix that is nearly square is of about this size
  // at least, unless it was made to be less.
  const double likely = 2 * static_cast<double>(k);
  if (IsNearlySquare(l, k) && likely * rcond > 0.5) return false;
  std::vector<double> tall(a, a + m * n), turned(m * n);
  if (!is_tall) {
    loops.transpose(tall.data(), m, n, turned.data());
    tall.swap(turned);
  }
  bool found = false;
  if constexpr (std::is_same_v<T, float>) {
    double condition = 0;
    found = ByGram(tall, l, k, rcond, &turned, &condition);
    // By a factor it would not be less.
    if (!found && condition * rcond >= 1) return false;
  }
  if (!found) {
    found = l == k ? ByInverse(tall, k, rcond, &turned)
                   : ByFactor(std::move(tall), l, k, rcond, &turned);
  }
  if (!found) return false;
  if (!is_tall) {
    tall.resize(m * n);
    loops.transpose(turned.data(), k, l, tall.data());
    turned.swap(tall);
  }
  for (int64_t i = 0; i < m * n; ++i) out[i] = static_cast<T>(turned[i]);
  return true;
}

// With Q R = a, R x is the beginning of Q^T b: what a factor of [a, b] has
// beside R.
template <typename W, typename T>
bool SolutionOf(const T* a, const T* b, int64_t m, int64_t n, int64_t k,
                double rcond, T* x) {
  const FactorLoops<W>& loops = FindFactorLoops<W>();
  const int64_t row = n + k;
  std::vector<W> both(m * row), found(n * k);
  for (int64_t i = 0; i < m; ++i) {
    std::copy_n(b + i * k, k, std::copy_n(a + i * n, n, both.data() + i * row));
  }
  loops.qr(both.data(), m, row, 0, nullptr);
  constexpr double kMost =
      std::is_same_v<W, float> ? kMostInFloat : kMostOfFactor;
  if (!IsFullRank(ConditionOf(loops, both.data(), row, n, FarFrom(rcond)),
                  kMost, rcond))
    return false;
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(both.data() + i * row + n, k, found.data() + i * k);
  loops.solve({both.data(), row, 1, true, false}, n, found.data(), k);
  std::copy(found.begin(), found.end(), x);
  return true;
}

// Of a that is wider than high: with Q R = a^T the least x is Q R^-T b, and
// a^T R^-1 R^-T b, where of the digits twice as many are lost, which float32
// does not have.
template <typename T>
bool LeastOfMany(const T* a, const T* b, int64_t m, int64_t n, int64_t k,
                 double rcond, T* x) {
  constexpr bool kFloat = std::is_same_v<T, float>;
  const FactorLoops<double>& loops = FindFactorLoops<double>();
  const std::vector<double> wide(a, a + m * n);
  std::vector<double> tall(n * m), q(kFloat ? 0 : n * m);
  loops.transpose(wide.data(), m, n, tall.data());
  loops.qr(tall.data(), n, m, m, kFloat ? nullptr : q.data());
  if (!IsFullRank(ConditionOf(loops, tall.data(), m, m, FarFrom(rcond)),
                  kFloat ? kMostOfSquare : kMostOfFactor, rcond))
    return false;
  std::vector<double> found(b, b + m * k), out(n * k);
  loops.solve({tall.data(), 1, m, false, false}, m, found.data(), k);
  if (kFloat) loops.solve({tall.data(), m, 1, true, false}, m, found.data(), k);
  // Row j gets `factor` times row i.
  const auto add = [&](int64_t j, double factor, int64_t i) {
    for (int64_t c = 0; c < k; ++c) out[j * k + c] += factor * found[i * k + c];
  };
  if (kFloat) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) add(j, wide[i * n + j], i);
    }
  } else {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) add(j, q[j * m + i], i);
    }
  }
  std::copy(out.begin(), out.end(), x);
  return true;
}

}  // namespace

template <typename T>
bool FullRankPseudoInverse(const T* a, int64_t m, int64_t n, double rcond,
                           T* out) {
  return OfReal(a, m, n, rcond, out);
}

template <typename T>
bool FullRankSolution(const T* a, const T* b, int64_t m, int64_t n, int64_t k,
                      double rcond, T* x) {
  if (m < 1 || n < 1) return false;
  if (m < n) return LeastOfMany(a, b, m, n, k, rcond, x);
  if constexpr (std::is_same_v<T, float>) {
    // A large matrix that is nearly square hardly ever has a condition for
    // which float is enough: that is a factor less in vain.
    if (!IsNearlySquare(m, n) && SolutionOf<float>(a, b, m, n, k, rcond, x))
      return true;
  }
  return SolutionOf<double>(a, b, m, n, k, rcond, x);
}

template bool FullRankSolution(const float*, const float*, int64_t, int64_t,
                               int64_t, double, float*);
template bool FullRankSolution(const double*, const double*, int64_t, int64_t,
                               int64_t, double, double*);

#define PROA_INSTANTIATE(T) \
  template bool FullRankPseudoInverse(const T*, int64_t, int64_t, double, T*);
PROA_INSTANTIATE(float)
PROA_INSTANTIATE(double)
#undef PROA_INSTANTIATE

}  // namespace proa::inline v0::ops::dense
