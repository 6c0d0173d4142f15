// Each loop for each instruction set of this machine, beside the equations as
// they are written in books, in long double.
#include "ops/linalg/secular_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/kernel.h"

#include "gtest/gtest.h"

namespace proa::inline v0::ops {
namespace {

// Around those of vectors.
constexpr int64_t kSizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 100};

template <typename T>
struct Equation {
  std::string name;
  std::vector<T> d, z;
  T rho;
  int64_t size() const { return static_cast<int64_t>(d.size()); }
};

template <typename T>
class SecularLoopsTest : public testing::Test {
 protected:
  SecularLoopsTest() {
    const auto add = [&](auto floats, auto doubles, Isa isa) {
      if (MachineIsa() < isa) return;
      if constexpr (std::is_same_v<T, float>)
        all_.push_back(&floats());
      else
        all_.push_back(&doubles());
    };
    add(sse2::FloatSecular, sse2::DoubleSecular, Isa::kBaseline);
    add(avx2::FloatSecular, avx2::DoubleSecular, Isa::kAvx2);
    add(avx512::FloatSecular, avx512::DoubleSecular, Isa::kAvx512);
  }

  // Numbers far apart and close together, of the same and of very different
  // weights, as far as LAPACK does not take them for the same or for 0.
  static std::vector<Equation<T>> Equations() {
    std::mt19937 rng(7);
    std::uniform_real_distribution<double> one(0, 1);
    constexpr double kLeast = 16 * std::numeric_limits<T>::epsilon();
    std::vector<Equation<T>> all;
    for (const int64_t n : kSizes) {
      for (const bool close : {false, true}) {
        for (const bool light : {false, true}) {
          for (const double rho : {1e-3, 1.0, 2.0}) {
            Equation<T> e{"n " + std::to_string(n) + (close ? " close" : "") +
                              (light ? " light" : ""),
                          std::vector<T>(n), std::vector<T>(n),
                          static_cast<T>(rho)};
            double at = 0, squares = 0;
            for (int64_t j = 0; j < n; ++j) {
              e.d[j] = static_cast<T>(at);
              const double step = one(rng) / static_cast<double>(n);
              at += close && j % 3 != 0 ? kLeast * (1 + step) : step + kLeast;
              const double size =
                  light ? std::exp(one(rng) * std::log(kLeast)) : one(rng);
              e.z[j] = static_cast<T>((j % 2 == 0 ? 1 : -1) * (size + kLeast));
              squares += static_cast<double>(e.z[j]) * e.z[j];
            }
            for (T& v : e.z) v = static_cast<T>(v / std::sqrt(squares));
            all.push_back(std::move(e));
          }
        }
      }
    }
    return all;
  }

  std::vector<const SecularLoops<T>*> all_;
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SecularLoopsTest, Types);

// How far root i is off by the value of the equation, in units of what rounding
// of its terms comes to.
template <typename T, typename F>
long double ValueInUnits(const Equation<T>& e, F difference) {
  long double value = 1 / static_cast<long double>(e.rho), sizes = value;
  for (int64_t j = 0; j < e.size(); ++j) {
    const long double z = e.z[j], term = z * z / difference(j);
    value += term;
    sizes += std::abs(term);
  }
  return std::abs(value) / sizes / std::numeric_limits<T>::epsilon();
}

TYPED_TEST(SecularLoopsTest, RootsOfNumbers) {
  using T = TypeParam;
  for (const auto* loops : this->all_) {
    for (const Equation<T>& e : this->Equations()) {
      const int64_t n = e.size();
      std::vector<T> difference(n);
      for (int64_t i = 0; i < n; ++i) {
        T x;
        ASSERT_TRUE(loops->eigenvalue(n, i, e.d.data(), e.z.data(), e.rho,
                                      difference.data(), &x));
        EXPECT_LE(ValueInUnits(e, [&](int64_t j) { return difference[j]; }), 16)
            << e.name << " root " << i;
        for (int64_t j = 0; j < n; ++j) {
          EXPECT_EQ(difference[j] > 0, j > i) << e.name << " root " << i;
          EXPECT_NEAR(difference[j], e.d[j] - x,
                      4 * std::numeric_limits<T>::epsilon());
        }
      }
    }
  }
}

TYPED_TEST(SecularLoopsTest, RootsOfSquares) {
  using T = TypeParam;
  for (const auto* loops : this->all_) {
    for (const Equation<T>& e : this->Equations()) {
      const int64_t n = e.size();
      std::vector<T> difference(n), sum(n);
      for (int64_t i = 0; i < n; ++i) {
        T x;
        ASSERT_TRUE(loops->singular(n, i, e.d.data(), e.z.data(), e.rho,
                                    difference.data(), sum.data(), &x));
        const auto of_squares = [&](int64_t j) {
          return static_cast<long double>(difference[j]) * sum[j];
        };
        EXPECT_LE(ValueInUnits(e, of_squares), 16) << e.name << " root " << i;
        for (int64_t j = 0; j < n; ++j) {
          EXPECT_EQ(difference[j] > 0, j > i) << e.name << " root " << i;
          EXPECT_NEAR(difference[j], e.d[j] - x,
                      4 * std::numeric_limits<T>::epsilon());
          EXPECT_NEAR(sum[j], e.d[j] + x,
                      8 * std::numeric_limits<T>::epsilon());
        }
      }
    }
  }
}

// Q L Q^T is the diagonal matrix and rho z z^T, and Q is orthogonal.
TYPED_TEST(SecularLoopsTest, Vectors) {
  using T = TypeParam;
  for (const auto* loops : this->all_) {
    for (const Equation<T>& e : this->Equations()) {
      const int64_t n = e.size(), step = n + 3;
      std::vector<T> q(n * step), roots(n), z = e.z;
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_TRUE(loops->eigenvalue(n, i, e.d.data(), e.z.data(), e.rho,
                                      q.data() + i * step, &roots[i]));
      }
      loops->refine(n, e.d.data(), q.data(), step, nullptr, 0, z.data());
      // The first rows are the last components.
      std::vector<int32_t> order(n);
      for (int64_t i = 0; i < n; ++i) order[i] = static_cast<int32_t>(n - i);
      loops->vectors(n, z.data(), order.data(), q.data(), step);
      const auto at = [&](int64_t i, int64_t j) -> double {
        return q[n - 1 - i + j * step];
      };
      const double limit =
          static_cast<double>(n + 16) * std::numeric_limits<T>::epsilon();
      for (int64_t a = 0; a < n; ++a) {
        for (int64_t b = 0; b <= a; ++b) {
          double inner = a == b ? -1 : 0;
          double whole = -static_cast<double>(e.rho) * e.z[a] * e.z[b];
          if (a == b) whole -= e.d[a];
          for (int64_t j = 0; j < n; ++j) {
            inner += at(j, a) * at(j, b);
            whole += at(a, j) * roots[j] * at(b, j);
          }
          ASSERT_LE(std::abs(inner), limit) << e.name << ' ' << a << ' ' << b;
          ASSERT_LE(std::abs(whole), 4 * limit)
              << e.name << ' ' << a << ' ' << b;
        }
      }
    }
  }
}

// U S V^T is the matrix with row z, which is not of length 1 here, first and d
// on its diagonal.
TYPED_TEST(SecularLoopsTest, SingularVectors) {
  using T = TypeParam;
  for (const auto* loops : this->all_) {
    for (const Equation<T>& e : this->Equations()) {
      const int64_t n = e.size(), step = n + 3, other = n + 1;
      if (n == 1) continue;
      std::vector<T> u(n * step), v(n * other), roots(n), z = e.z;
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_TRUE(loops->singular(n, i, e.d.data(), e.z.data(), e.rho,
                                    u.data() + i * step, v.data() + i * other,
                                    &roots[i]));
      }
      loops->refine(n, e.d.data(), u.data(), step, v.data(), other, z.data());
      loops->singular_vectors(n, e.d.data(), z.data(), u.data(), step, v.data(),
                              other);
      const double limit =
          static_cast<double>(n + 16) * std::numeric_limits<T>::epsilon();
      const double length = std::sqrt(static_cast<double>(e.rho));
      for (int64_t a = 0; a < n; ++a) {
        for (int64_t b = 0; b < n; ++b) {
          double left = a == b ? -1 : 0, right = left;
          double whole = a == 0 ? -length * e.z[b] : a == b ? -e.d[a] : 0;
          for (int64_t j = 0; j < n; ++j) {
            const double ua = u[a + j * step], ub = u[b + j * step];
            const double va = v[a + j * other], vb = v[b + j * other];
            left += ua * ub;
            right += va * vb;
            whole += ua * roots[j] * vb;
          }
          ASSERT_LE(std::abs(left), limit) << e.name << ' ' << a << ' ' << b;
          ASSERT_LE(std::abs(right), limit) << e.name << ' ' << a << ' ' << b;
          ASSERT_LE(std::abs(whole), 4 * limit)
              << e.name << ' ' << a << ' ' << b;
        }
      }
    }
  }
}

TYPED_TEST(SecularLoopsTest, WhatIsNoNumberHasNoRoot) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const auto* loops : this->all_) {
    for (const int64_t n : kSizes) {
      std::vector<T> d(n), z(n, T(1)), difference(n), sum(n);
      std::iota(d.begin(), d.end(), T(0));
      z[n / 2] = nan;
      for (int64_t i = 0; i < n; ++i) {
        T x;
        EXPECT_FALSE(loops->eigenvalue(n, i, d.data(), z.data(), 1,
                                       difference.data(), &x));
        EXPECT_FALSE(loops->singular(n, i, d.data(), z.data(), 1,
                                     difference.data(), sum.data(), &x));
      }
    }
  }
}

}  // namespace
}  // namespace proa::inline v0::ops
