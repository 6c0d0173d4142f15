// Each loop for each instruction set of this machine, beside sums of products
// as they are written in books.
#include "ops/linalg/blas_loops.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/kernel.h"

#include "gtest/gtest.h"

namespace proa::inline v0::ops {
namespace {

template <typename T>
T Conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return std::conj(x);
  }
}

template <typename T>
class BlasLoopsTest : public testing::Test {
 protected:
  BlasLoopsTest() {
    constexpr auto find = [](auto floats, auto doubles, auto complex64,
                             auto complex128) {
      if constexpr (std::is_same_v<T, float>)
        return floats;
      else if constexpr (std::is_same_v<T, double>)
        return doubles;
      else if constexpr (std::is_same_v<T, std::complex<float>>)
        return complex64;
      else
        return complex128;
    };
    const auto add = [&](auto loops, Isa isa) {
      if (MachineIsa() >= isa) all_.push_back(&loops());
    };
    add(find(sse2::FloatBlas, sse2::DoubleBlas, sse2::Complex64Blas,
             sse2::Complex128Blas),
        Isa::kBaseline);
    add(find(avx2::FloatBlas, avx2::DoubleBlas, avx2::Complex64Blas,
             avx2::Complex128Blas),
        Isa::kAvx2);
    add(find(avx512::FloatBlas, avx512::DoubleBlas, avx512::Complex64Blas,
             avx512::Complex128Blas),
        Isa::kAvx512);
  }

  T Random() {
    std::uniform_real_distribution<double> d(-1, 1);
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(d(generator_));
    } else {
      const double real = d(generator_), imaginary = d(generator_);
      return T(real, imaginary);
    }
  }
  std::vector<T> Random(int64_t count) {
    std::vector<T> x(count);
    for (T& v : x) v = Random();
    return x;
  }
  T At(Form form, const std::vector<T>& a, int64_t lda, int64_t i, int64_t j) {
    if (form == Form::kAsIs) return a[i + j * lda];
    const T x = a[j + i * lda];
    return form == Form::kAdjoint ? Conjugate(x) : x;
  }
  void ExpectNear(const std::vector<T>& got, const std::vector<T>& wanted,
                  int64_t terms, const std::string& what) {
    using R = decltype(std::abs(T()));
    const double limit = 4.0 * static_cast<double>(terms + 8) *
                         std::numeric_limits<R>::epsilon();
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_LE(std::abs(got[i] - wanted[i]), limit) << what << " at " << i;
  }

  std::vector<const BlasLoops<T>*> all_;
  std::mt19937 generator_{1};
};

using Types =
    testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(BlasLoopsTest, Types);

constexpr Form kForms[] = {Form::kAsIs, Form::kTransposed, Form::kAdjoint};

TYPED_TEST(BlasLoopsTest, Rotations) {
  using T = TypeParam;
  using R = decltype(std::abs(T()));
  for (const auto* loops : this->all_) {
    for (int64_t m : {0, 1, 2, 7, 8, 9, 16, 17, 33, 40}) {
      for (int64_t n : {0, 1, 2, 3, 25}) {
        for (const bool rows : {false, true}) {
          for (const bool forward : {false, true}) {
            const int64_t height = rows ? n : m, width = rows ? m : n;
            const int64_t lda = height + 2;
            std::vector<T> a = this->Random(lda * width), wanted = a;
            std::vector<R> cosine, sine;
            for (int64_t k = 0; k + 1 < n; ++k) {
              const R angle = std::abs(this->Random());
              cosine.push_back(std::cos(angle));
              sine.push_back(std::sin(angle));
            }
            loops->rotate(rows, forward, m, n, cosine.data(), sine.data(),
                          a.data(), lda);
            for (int64_t k = 0; k + 1 < n; ++k) {
              const int64_t j = forward ? k : n - 2 - k;
              for (int64_t i = 0; i < m; ++i) {
                T& x = wanted[rows ? j + i * lda : i + j * lda];
                T& y = wanted[rows ? j + 1 + i * lda : i + (j + 1) * lda];
                const T before = x;
                x = cosine[j] * x + sine[j] * y;
                y = cosine[j] * y - sine[j] * before;
              }
            }
            this->ExpectNear(a, wanted, n, rows ? "rows" : "columns");
          }
        }
      }
    }
  }
}

TYPED_TEST(BlasLoopsTest, Lines) {
  using T = TypeParam;
  for (const auto* loops : this->all_) {
    for (int64_t n : {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 65, 200}) {
      const std::vector<T> x = this->Random(n), y = this->Random(n);
      const T alpha = this->Random();
      std::vector<T> sum = y, scaled = x, wanted = y, wanted_scaled = x;
      loops->axpy(n, alpha, x.data(), sum.data());
      loops->scale(n, alpha, scaled.data());
      T dot = 0, conjugate = 0;
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) {
        wanted[i] += alpha * x[i];
        wanted_scaled[i] *= alpha;
        dot += x[i] * y[i];
        conjugate += Conjugate(x[i]) * y[i];
        squares += std::norm(x[i]);
      }
      const std::string what = "of " + std::to_string(n);
      this->ExpectNear(sum, wanted, 1, "axpy " + what);
      this->ExpectNear(scaled, wanted_scaled, 1, "scale " + what);
      this->ExpectNear({loops->dot(n, x.data(), y.data(), false),
                        loops->dot(n, x.data(), y.data(), true)},
                       {dot, conjugate}, n, "dot " + what);
      EXPECT_NEAR(loops->squares(n, x.data()), squares, 1e-5 * (1 + squares));
    }
  }
}

TYPED_TEST(BlasLoopsTest, MatrixAndVector) {
  using T = TypeParam;
  for (const auto* loops : this->all_) {
    for (int64_t m : {1, 5, 17, 40}) {
      for (int64_t n : {1, 3, 4, 8, 13, 31}) {
        const int64_t lda = m + 3;
        const std::vector<T> a = this->Random(lda * n), x = this->Random(n),
                             z = this->Random(m);
        const T alpha = this->Random();
        std::vector<T> y = this->Random(m), wanted = y;
        loops->gemv(m, n, a.data(), lda, x.data(), y.data());
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) wanted[i] += a[i + j * lda] * x[j];
        this->ExpectNear(y, wanted, n, "gemv");
        std::vector<T> more = a, wanted_more = a;
        loops->ger(m, n, z.data(), x.data(), more.data(), lda);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            wanted_more[i + j * lda] += z[i] * x[j];
        this->ExpectNear(more, wanted_more, 1, "ger");
        for (bool conjugate : {false, true}) {
          std::vector<T> t = x, wanted_t = x;
          loops->gemv_turned(m, n, alpha, a.data(), lda, z.data(), conjugate,
                             t.data());
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j)
              wanted_t[j] +=
                  alpha *
                  (conjugate ? Conjugate(a[i + j * lda]) : a[i + j * lda]) *
                  z[i];
          this->ExpectNear(t, wanted_t, m, "gemv_turned");
        }
      }
    }
    for (int64_t n : {1, 2, 3, 4, 5, 8, 19, 50}) {
      for (bool upper : {false, true}) {
        const int64_t lda = n + 1;
        std::vector<T> a = this->Random(lda * n);
        const std::vector<T> x = this->Random(n);
        const T alpha = this->Random();
        std::vector<T> y = x, wanted = x;
        loops->hemv(upper, n, alpha, a.data(), lda, x.data(), y.data());
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            T e = (upper ? i <= j : i >= j) ? a[i + j * lda]
                                            : Conjugate(a[j + i * lda]);
            if (i == j) e = std::real(e);
            wanted[i] += alpha * e * x[j];
          }
        }
        this->ExpectNear(y, wanted, n, "hemv");
      }
    }
  }
}

TYPED_TEST(BlasLoopsTest, Gemm) {
  using T = TypeParam;
  struct Size {
    int64_t m, n, k;
  };
  for (const auto* loops : this->all_) {
    for (const auto& [m, n, k] : {Size{1, 1, 1},
                                  {2, 3, 0},
                                  {17, 9, 5},
                                  {48, 8, 32},
                                  {49, 10, 33},
                                  {100, 13, 300},
                                  {5, 530, 3}}) {
      for (Form form_a : kForms) {
        for (Form form_b : kForms) {
          const int64_t lda = (form_a == Form::kAsIs ? m : k) + 2;
          const int64_t ldb = (form_b == Form::kAsIs ? k : n) + 1;
          const int64_t ldc = m + 3;
          const auto a = this->Random(lda * (m + k)),
                     b = this->Random(ldb * (n + k));
          for (const T beta : {T(0), T(1), this->Random()}) {
            const T alpha = this->Random();
            auto c = this->Random(ldc * n), wanted = c;
            for (int64_t j = 0; j < n; ++j) {
              for (int64_t i = 0; i < m; ++i) {
                T sum = 0;
                for (int64_t p = 0; p < k; ++p)
                  sum += this->At(form_a, a, lda, i, p) *
                         this->At(form_b, b, ldb, p, j);
                T& to = wanted[i + j * ldc];
                to = alpha * sum + (beta == T(0) ? T(0) : beta * to);
              }
            }
            loops->gemm(form_a, form_b, m, n, k, alpha, a.data(), lda, b.data(),
                        ldb, beta, c.data(), ldc);
            this->ExpectNear(c, wanted, 2 * k, "gemm");
          }
        }
      }
    }
    // What is written over is not read.
    std::vector<T> c(4, std::numeric_limits<float>::quiet_NaN());
    const std::vector<T> one(4, T(1));
    for (int64_t k : {0, 1}) {
      loops->gemm(Form::kAsIs, Form::kAsIs, 2, 2, k, T(1), one.data(), 2,
                  one.data(), 2, T(0), c.data(), 2);
      EXPECT_EQ(c, std::vector<T>(4, T(k)));
    }
  }
}

TYPED_TEST(BlasLoopsTest, Triangles) {
  using T = TypeParam;
  for (const auto* loops : this->all_) {
    for (int64_t order : {1, 7, 32, 33, 80}) {
      for (int mask = 0; mask < 8; ++mask) {
        const bool left = mask & 1, upper = mask & 2, unit = mask & 4;
        for (Form form : kForms) {
          const int64_t m = left ? order : 11, n = left ? 11 : order;
          const int64_t lda = order + 1, ldb = m + 2;
          const auto a = this->Random(lda * order);
          const auto before = this->Random(ldb * n);
          const T alpha = this->Random();
          const auto of_triangle = [&](int64_t i, int64_t j) -> T {
            if (i == j && unit) return 1;
            const bool stored =
                i == j || ((form == Form::kAsIs ? i < j : j < i) == upper);
            return stored ? this->At(form, a, lda, i, j) : T(0);
          };
          auto b = before, wanted = before;
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              T sum = 0;
              for (int64_t p = 0; p < order; ++p)
                sum += left ? of_triangle(i, p) * before[p + j * ldb]
                            : before[i + p * ldb] * of_triangle(p, j);
              wanted[i + j * ldb] = alpha * sum;
            }
          }
          loops->trmm(left, upper, form, unit, m, n, alpha, a.data(), lda,
                      b.data(), ldb);
          this->ExpectNear(b, wanted, 2 * order, "trmm");
        }
      }
    }
    for (int64_t n : {1, 5, 48, 49, 101}) {
      for (int mask = 0; mask < 4; ++mask) {
        const bool upper = mask & 1, turned = mask & 2;
        const int64_t k = 6, ld = (turned ? k : n) + 1, ldc = n + 1;
        const auto a = this->Random(ld * (n + k)),
                   b = this->Random(ld * (n + k));
        const T alpha = this->Random();
        const T beta = std::real(this->Random());
        auto c = this->Random(ldc * n), wanted = c;
        const auto element = [&](const std::vector<T>& x, int64_t i,
                                 int64_t p) {
          return turned ? Conjugate(x[p + i * ld]) : x[i + p * ld];
        };
        for (int64_t j = 0; j < n; ++j) {
          for (int64_t i = 0; i < n; ++i) {
            if (upper ? i > j : i < j) continue;
            T sum = 0;
            for (int64_t p = 0; p < k; ++p)
              sum += alpha * element(a, i, p) * Conjugate(element(b, j, p)) +
                     Conjugate(alpha) * element(b, i, p) *
                         Conjugate(element(a, j, p));
            T& to = wanted[i + j * ldc];
            to = sum + beta * to;
            if (i == j) to = std::real(to);
          }
        }
        loops->her2k(upper, turned, n, k, alpha, a.data(), ld, b.data(), ld,
                     beta, c.data(), ldc);
        this->ExpectNear(c, wanted, 4 * k, "her2k");
      }
    }
  }
}

// Products with the solutions give what was on the right hand side.
TYPED_TEST(BlasLoopsTest, TriangularSystems) {
  using T = TypeParam;
  for (const auto* loops : this->all_) {
    for (int64_t order : {1, 2, 31, 32, 33, 64, 70, 130}) {
      for (int64_t others : {1, 3, 8, 16, 17, 40}) {
        for (int mask = 0; mask < 24; ++mask) {
          const bool left = mask & 1, upper = mask & 2, unit = mask & 4;
          const Form form = kForms[mask / 8];
          const int64_t m = left ? order : others, n = left ? others : order;
          const int64_t lda = order + 3, ldb = m + 2;
          std::vector<T> a = this->Random(lda * order);
          // Of random triangles solutions grow with their order.
          for (T& x : a) x /= static_cast<T>(order);
          for (int64_t i = 0; i < order; ++i)
            a[i * (lda + 1)] = this->Random() + T(2);
          const std::vector<T> wanted = this->Random(ldb * n);
          std::vector<T> b = wanted;
          const T alpha = this->Random();
          loops->trsm(left, upper, form, unit, m, n, alpha, a.data(), lda,
                      b.data(), ldb);
          std::vector<T> product = b;
          loops->trmm(left, upper, form, unit, m, n, T(1), a.data(), lda,
                      product.data(), ldb);
          std::vector<T> scaled = wanted;
          for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < m; ++i) scaled[i + j * ldb] *= alpha;
          this->ExpectNear(product, scaled, 4 * order, "trsm");
          // Beside the matrix nothing is written.
          for (int64_t j = 0; j < n; ++j)
            for (int64_t i = m; i < ldb; ++i)
              ASSERT_EQ(b[i + j * ldb], wanted[i + j * ldb]);
        }
      }
    }
  }
}

TYPED_TEST(BlasLoopsTest, QuotientsOfAnyRange) {
  using T = TypeParam;
  using R = decltype(std::abs(T()));
  for (const auto* loops : this->all_) {
    for (const R size : {std::numeric_limits<R>::max() / 8,
                         std::numeric_limits<R>::min() * 8}) {
      const T a = size * this->Random(), b = size * this->Random();
      T x = b;
      loops->trsm(true, true, Form::kAsIs, false, 1, 1, T(1), &a, 1, &x, 1);
      const T wanted = (b / size) / (a / size);
      EXPECT_LE(std::abs(x - wanted),
                16 * std::numeric_limits<R>::epsilon() * std::abs(wanted));
    }
  }
}

TYPED_TEST(BlasLoopsTest, SquaresOfMatrices) {
  using T = TypeParam;
  using R = decltype(std::abs(T()));
  for (const auto* loops : this->all_) {
    for (int64_t n : {1, 5, 48, 49, 101}) {
      for (int mask = 0; mask < 4; ++mask) {
        const bool upper = mask & 1, turned = mask & 2;
        const int64_t k = 6, ld = (turned ? k : n) + 1, ldc = n + 1;
        const auto a = this->Random(ld * (n + k));
        const R alpha = std::real(this->Random()),
                beta = std::real(this->Random());
        auto c = this->Random(ldc * n), wanted = c;
        const auto element = [&](int64_t i, int64_t p) {
          return turned ? Conjugate(a[p + i * ld]) : a[i + p * ld];
        };
        for (int64_t j = 0; j < n; ++j) {
          for (int64_t i = 0; i < n; ++i) {
            if (upper ? i > j : i < j) continue;
            T sum = 0;
            for (int64_t p = 0; p < k; ++p)
              sum += element(i, p) * Conjugate(element(j, p));
            T& to = wanted[i + j * ldc];
            to = alpha * sum + beta * to;
            if (i == j) to = std::real(to);
          }
        }
        loops->herk(upper, turned, n, k, alpha, a.data(), ld, beta, c.data(),
                    ldc);
        this->ExpectNear(c, wanted, 4 * k, "herk");
      }
    }
  }
}

}  // namespace
}  // namespace proa::inline v0::ops
