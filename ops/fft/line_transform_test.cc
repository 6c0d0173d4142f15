#include "ops/fft/line_transform.h"

#include <cmath>
#include <numbers>

#include "gtest/gtest.h"

namespace proa::inline v0::ops::fft {
namespace {

using Z = std::complex<double>;

// The sum by its definition, in long double.
std::vector<Z> Sums(const std::vector<Z>& x, bool forward) {
  using Long = std::complex<long double>;
  const auto n = static_cast<int64_t>(x.size());
  std::vector<Long> turns(n);
  for (int64_t k = 0; k < n; ++k) {
    const long double angle = 2 * std::numbers::pi_v<long double> *
                              static_cast<long double>(k) /
                              static_cast<long double>(n);
    turns[k] =
        Long(std::cos(angle), forward ? -std::sin(angle) : std::sin(angle));
  }
  std::vector<Z> out(n);
  for (int64_t k = 0; k < n; ++k) {
    Long sum;
    for (int64_t j = 0; j < n; ++j) {
      const Long turn = turns[j * k % n];
      // Written out: operator* looks at each product for NaN.
      sum += Long(x[j].real() * turn.real() - x[j].imag() * turn.imag(),
                  x[j].real() * turn.imag() + x[j].imag() * turn.real());
    }
    out[k] = Z(sum);
  }
  return out;
}

std::vector<Z> Line(int64_t n) {
  std::vector<Z> x(n);
  for (int64_t j = 0; j < n; ++j) x[j] = Z(std::sin(3.7 * j), std::cos(j * j));
  return x;
}

template <typename T>
void Check(int64_t n, double tolerance) {
  using C = std::complex<T>;
  LineTransform<T>& line = LineTransform<T>::OfThread();
  const std::vector<Z> x = Line(n);
  const double limit = tolerance * std::sqrt(static_cast<double>(n));
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(testing::Message() << n << (forward ? " there" : " back"));
    const std::vector<C> in(x.begin(), x.end());
    std::vector<C> out(n);
    line.Complex(in.data(), out.data(), n, forward);
    const std::vector<Z> sums = Sums(x, forward);
    for (int64_t k = 0; k < n; ++k) {
      ASSERT_LT(std::abs(Z(out[k]) - sums[k]), limit) << k;
    }
    std::vector<T> real(n), back(n);
    std::vector<Z> of_real(n);
    for (int64_t j = 0; j < n; ++j) real[j] = in[j].real();
    for (int64_t j = 0; j < n; ++j) of_real[j] = real[j];
    const std::vector<Z> real_sums = Sums(of_real, forward);
    std::vector<C> half(n / 2 + 1);
    line.RealToHalf(real.data(), half.data(), n, forward);
    for (int64_t k = 0; k <= n / 2; ++k) {
      ASSERT_LT(std::abs(Z(half[k]) - real_sums[k]), limit) << k;
    }
    // Imaginary parts that no signal has.
    half[0] += C(0, 7);
    if (n % 2 == 0) half[n / 2] += C(0, 7);
    line.HalfToReal(half.data(), back.data(), n, !forward);
    for (int64_t j = 0; j < n; ++j) {
      ASSERT_LT(std::abs(back[j] / static_cast<T>(n) - real[j]), tolerance * 8)
          << j;
    }
  }
}

TEST(LineTransformTest, EqualsSumsOfEachLength) {
  for (int64_t n = 1; n <= 130; ++n) {
    Check<double>(n, 1e-14);
    Check<float>(n, 1e-6);
  }
  for (const int64_t n : {211, 256, 360, 509, 1024}) {
    Check<double>(n, 1e-13);
    Check<float>(n, 2e-6);
  }
}

TEST(LineTransformTest, WhatIsKeptIsBounded) {
  LineTransform<double> line;
  std::vector<Z> in(3 << 19), out(3 << 19);
  in[0] = 1;
  for (const int64_t n : {int64_t{3} << 19, int64_t{1} << 20, int64_t{5} << 18,
                          int64_t{1} << 19, int64_t{3} << 19}) {
    line.Complex(in.data(), out.data(), n, true);
    EXPECT_EQ(out[n - 1], Z(1));
    EXPECT_LE(line.kept(), int64_t{1} << 22);
  }
}

TEST(LineTransformTest, RefusesWhatTheLibraryCannotCount) {
  LineTransform<float> line;
  std::complex<float> c;
  EXPECT_ANY_THROW(line.Complex(&c, &c, kMaxPoints + 1, true));
  EXPECT_ANY_THROW(line.Complex(&c, &c, 0, true));
}

}  // namespace
}  // namespace proa::inline v0::ops::fft
