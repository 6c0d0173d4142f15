#include "ops/linalg/factor_loops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace proa::inline v0::ops {
namespace {

// Sizes around those of blocks, strips and groups of rows.
constexpr int64_t kSizes[] = {1, 2, 7, 31, 32, 33, 48, 64, 77, 131};

template <typename T>
class FactorLoopsTest : public testing::Test {
 protected:
  using Numbers = std::vector<T>;

  static Numbers Random(int64_t n) {
    std::mt19937 rng(static_cast<uint32_t>(n));
    std::uniform_real_distribution<double> one(-1, 1);
    Numbers out(n);
    for (T& v : out) v = static_cast<T>(one(rng));
    return out;
  }

  // a [m, k] b [k, n] in float64; either may be read as its transpose.
  static std::vector<double> Product(const Numbers& a, const Numbers& b,
                                     int64_t m, int64_t n, int64_t k,
                                     bool turn_a = false) {
    std::vector<double> c(m * n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < n; ++j)
          c[i * n + j] +=
              static_cast<double>(a[turn_a ? p * m + i : i * k + p]) *
              static_cast<double>(b[p * n + j]);
    return c;
  }

  static void ExpectNear(const std::vector<double>& is, const Numbers& wanted,
                         double scale) {
    ASSERT_EQ(is.size(), wanted.size());
    const double limit = scale * std::numeric_limits<T>::epsilon();
    for (size_t i = 0; i < is.size(); ++i)
      ASSERT_NEAR(is[i], static_cast<double>(wanted[i]), limit) << i;
  }

  // What is on and above the diagonal of rows of length n, or below it with
  // ones on it.
  static Numbers Upper(const Numbers& a, int64_t rows, int64_t n) {
    Numbers u(rows * n);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = i; j < n; ++j) u[i * n + j] = a[i * n + j];
    return u;
  }
  static Numbers UnitLower(const Numbers& a, int64_t m, int64_t n, int64_t k) {
    Numbers l(m * k);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < std::min(i + 1, k); ++j)
        l[i * k + j] = i == j ? T(1) : a[i * n + j];
    return l;
  }

  const FactorLoops<T>& loops_ = FindFactorLoops<T>();
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FactorLoopsTest, Types);

TYPED_TEST(FactorLoopsTest, CholeskyGivesTheMatrixBack) {
  using T = TypeParam;
  for (int64_t n : kSizes) {
    const auto x = this->Random(2 * n * n);
    std::vector<T> a(n * n);
    this->loops_.gram(x.data(), 2 * n, n, a.data());
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j) a[i * n + j] = a[j * n + i];
    this->ExpectNear(this->Product(x, x, n, n, 2 * n, true), a, 8. * n);
    auto u = a;
    ASSERT_EQ(this->loops_.cholesky(u.data(), n), -1);
    u = this->Upper(u, n, n);
    this->ExpectNear(this->Product(u, u, n, n, n, true), a, 20. * n);
    a[(n - 1) * n + n - 1] = -1;
    EXPECT_EQ(this->loops_.cholesky(a.data(), n), n - 1);
  }
}

TYPED_TEST(FactorLoopsTest, LuGivesTheSwappedMatrixBack) {
  using T = TypeParam;
  for (int64_t m : kSizes) {
    for (int64_t n : kSizes) {
      const int64_t k = std::min(m, n);
      auto a = this->Random(m * n), lu = a;
      std::vector<int32_t> swaps(k);
      ASSERT_EQ(this->loops_.lu(lu.data(), m, n, swaps.data()), 0);
      for (int64_t i = 0; i < k; ++i) {
        ASSERT_GE(swaps[i], i);
        for (int64_t j = 0; j < n && swaps[i] != i; ++j)
          std::swap(a[i * n + j], a[swaps[i] * n + j]);
      }
      const auto lower = this->UnitLower(lu, m, n, k);
      for (T l : lower) ASSERT_LE(std::abs(l), T(1));
      this->ExpectNear(this->Product(lower, this->Upper(lu, k, n), m, n, k), a,
                       20. * k);
    }
  }
  std::vector<T> zeros(64 * 64);
  std::vector<int32_t> swaps(64);
  zeros[0] = 1;
  EXPECT_EQ(this->loops_.lu(zeros.data(), 64, 64, swaps.data()), 2);
}

TYPED_TEST(FactorLoopsTest, SolvesTriangles) {
  for (int64_t n : kSizes) {
    for (int64_t k : {1, 8, 33}) {
      for (int kind = 0; kind < 8; ++kind) {
        const bool upper = kind & 1, unit = kind & 2, turned = kind & 4;
        auto a = this->Random(n * n);
        for (auto& v : a) v /= static_cast<TypeParam>(n);
        for (int64_t i = 0; i < n; ++i) a[i * n + i] += 2;
        // The triangle itself, as rows.
        std::vector<TypeParam> t(n * n);
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j)
            if (i == j)
              t[i * n + j] = unit ? 1 : a[i * n + i];
            else if (upper == (j > i))
              t[i * n + j] = turned ? a[j * n + i] : a[i * n + j];
        const auto b = this->Random(n * k);
        auto x = b;
        this->loops_.solve(
            {a.data(), turned ? 1 : n, turned ? n : 1, upper, unit}, n,
            x.data(), k);
        this->ExpectNear(this->Product(t, x, n, k, n), b, 40.);
      }
    }
  }
}

TYPED_TEST(FactorLoopsTest, QrGivesTheMatrixBack) {
  for (int64_t m : kSizes) {
    for (int64_t n : kSizes) {
      for (int64_t columns : {std::min(m, n), m}) {
        const auto a = this->Random(m * n);
        auto r = a;
        std::vector<TypeParam> q(m * columns), one(columns * columns);
        this->loops_.qr(r.data(), m, n, columns, q.data());
        for (int64_t i = 0; i < columns; ++i) one[i * columns + i] = 1;
        this->ExpectNear(this->Product(q, q, columns, columns, m, true), one,
                         8. * std::sqrt(m));
        this->ExpectNear(
            this->Product(q, this->Upper(r, columns, n), m, n, columns), a,
            8. * m);
      }
    }
  }
}

// Squares of their numbers are no numbers of the type.
TYPED_TEST(FactorLoopsTest, QrOfTinyAndHugeNumbers) {
  using T = TypeParam;
  constexpr int64_t n = 77;
  constexpr int kRange = std::numeric_limits<T>::max_exponent;
  for (int exponent : {-kRange + 12, -kRange * 3 / 4, kRange - 12}) {
    const auto plain = this->Random(n * n);
    auto r = plain;
    for (T& v : r) v = std::ldexp(v, exponent);
    std::vector<T> q(n * n);
    this->loops_.qr(r.data(), n, n, n, q.data());
    for (T& v : r) v = std::ldexp(v, -exponent);
    this->ExpectNear(this->Product(q, this->Upper(r, n, n), n, n, n), plain,
                     60. * n);
    std::vector<T> one(n * n);
    for (int64_t i = 0; i < n; ++i) one[i * n + i] = 1;
    this->ExpectNear(this->Product(q, q, n, n, n, true), one, 60. * n);
  }
}

TYPED_TEST(FactorLoopsTest, TransposesAnyShape) {
  for (int64_t m : kSizes) {
    for (int64_t n : kSizes) {
      const auto a = this->Random(m * n);
      std::vector<TypeParam> to(m * n);
      this->loops_.transpose(a.data(), m, n, to.data());
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) ASSERT_EQ(to[j * m + i], a[i * n + j]);
    }
  }
}

}  // namespace
}  // namespace proa::inline v0::ops
