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

// Some lines of n elements, dense or as columns of a wider matrix.
template <typename E>
class Some {
 public:
  Some(int64_t count, int64_t n, bool columns)
      : columns_(columns),
        count_(count),
        row_(columns ? count + 3 : n),
        elements_((columns ? n : count) * row_, E(-77)) {
    for (int64_t l = 0; l < count; ++l) {
      starts_.push_back(elements_.data() + l * row_);
      reads_.push_back(starts_.back());
    }
  }

  E& At(int64_t line, int64_t k) {
    return elements_[columns_ ? k * row_ + line : line * row_ + k];
  }
  LineBlock<E> out() {
    if (!columns_) return {.lines = starts_.data(), .count = count_};
    return {.columns = elements_.data(), .row = row_, .count = count_};
  }
  LineBlock<const E> in() {
    if (!columns_) return {.lines = reads_.data(), .count = count_};
    return {.columns = elements_.data(), .row = row_, .count = count_};
  }
  // Whether what lies between columns is as it was.
  bool RestIsKept() const {
    for (size_t i = 0; columns_ && i < elements_.size(); ++i) {
      if (static_cast<int64_t>(i) % row_ >= count_ && elements_[i] != E(-77))
        return false;
    }
    return true;
  }

 private:
  bool columns_;
  int64_t count_, row_;
  std::vector<E> elements_;
  std::vector<E*> starts_;
  std::vector<const E*> reads_;
};

double Element(int64_t line, int64_t j) {
  return std::sin(3.7 * j + line) + std::cos(j * j) * (line + 1);
}

// Of a line: ||got - want|| / ||want||, over elements [0, n).
template <typename Got>
double ErrorOf(const Got& got, const std::vector<Z>& want, int64_t n) {
  double error = 0, norm = 1e-300;
  for (int64_t k = 0; k < n; ++k) {
    error += std::norm(Z(got(k)) - want[k]);
    norm += std::norm(want[k]);
  }
  return std::sqrt(error / norm);
}

template <typename T>
class Case {
 public:
  using C = std::complex<T>;
  Case(int64_t n, int64_t count, bool columns, bool forward)
      : n_(n), count_(count), columns_(columns), forward_(forward) {}

  void Check() {
    SCOPED_TRACE(testing::Message()
                 << n_ << (forward_ ? " there, " : " back, ") << count_
                 << (columns_ ? " columns of " : " lines of ") << sizeof(T));
    if (!columns_ || LineTransform<T>::TakesColumns(n_, false)) CheckComplex();
    if (!columns_ || LineTransform<T>::TakesColumns(n_, true)) CheckReal();
  }

 private:
  // Rounding grows with the number of steps.
  double limit() const {
    const double steps = std::log2(static_cast<double>(n_) + 1);
    return std::sqrt(steps) * (sizeof(T) == 4 ? 1e-7 : 2e-16);
  }

  void CheckComplex() {
    Some<C> in(count_, n_, columns_), out(count_, n_, columns_);
    for (int64_t l = 0; l < count_; ++l) {
      for (int64_t j = 0; j < n_; ++j)
        in.At(l, j) = C(Element(l, j), Element(l + 9, j));
    }
    auto& transform = LineTransform<T>::OfThread();
    transform.Complex(in.in(), out.out(), n_, forward_, 2);
    EXPECT_TRUE(out.RestIsKept());
    // In place, too.
    transform.Complex(in.in(), in.out(), n_, forward_, 2);
    for (int64_t l = 0; l < count_; l += std::max<int64_t>(count_ - 1, 1)) {
      std::vector<Z> x(n_);
      for (int64_t j = 0; j < n_; ++j)
        x[j] = 2.0 * Z(C(Element(l, j), Element(l + 9, j)));
      EXPECT_LT(ErrorOf([&](int64_t k) { return out.At(l, k); },
                        Sums(x, forward_), n_),
                limit());
      for (int64_t k = 0; k < n_; ++k) ASSERT_EQ(in.At(l, k), out.At(l, k));
    }
  }

  void CheckReal() {
    const int64_t half = n_ / 2 + 1;
    Some<T> in(count_, n_, columns_), back(count_, n_, columns_);
    Some<C> out(count_, half, columns_);
    for (int64_t l = 0; l < count_; ++l) {
      for (int64_t j = 0; j < n_; ++j) in.At(l, j) = Element(l, j);
    }
    auto& transform = LineTransform<T>::OfThread();
    transform.RealToHalf(in.in(), out.out(), n_, forward_, 2);
    EXPECT_TRUE(out.RestIsKept());
    const int64_t step = std::max<int64_t>(count_ - 1, 1);
    for (int64_t l = 0; l < count_; l += step) {
      std::vector<Z> x(n_);
      for (int64_t j = 0; j < n_; ++j) x[j] = 2.0 * Z(in.At(l, j));
      EXPECT_LT(ErrorOf([&](int64_t k) { return out.At(l, k); },
                        Sums(x, forward_), half),
                limit());
    }
    for (int64_t l = 0; l < count_; ++l) {
      // Imaginary parts that no signal has.
      out.At(l, 0) += C(0, 7);
      if (n_ % 2 == 0) out.At(l, n_ / 2) += C(0, 7);
    }
    transform.HalfToReal(out.in(), back.out(), n_, !forward_,
                         static_cast<T>(0.5 / static_cast<double>(n_)));
    EXPECT_TRUE(back.RestIsKept());
    for (int64_t l = 0; l < count_; l += step) {
      std::vector<Z> x(n_);
      for (int64_t j = 0; j < n_; ++j) x[j] = Z(in.At(l, j));
      EXPECT_LT(ErrorOf([&](int64_t j) { return back.At(l, j); }, x, n_),
                1.5 * limit());
    }
  }

  int64_t n_, count_;
  bool columns_, forward_;
};

template <typename T>
void CheckAll(int64_t n) {
  const int64_t lanes = LineTransform<T>::Lanes();
  for (const int64_t count : {int64_t{1}, lanes - 1, lanes}) {
    for (const bool columns : {false, true})
      Case<T>(n, count, columns, (n + count) % 2 == 0).Check();
  }
}

TEST(LineTransformTest, EqualsSumsOfEachLength) {
  for (int64_t n = 1; n <= 210; ++n) {
    CheckAll<double>(n);
    CheckAll<float>(n);
  }
}

// Powers of two, smooth lengths, middle and large primes.
TEST(LineTransformTest, EqualsSumsOfEachKindOfLength) {
  for (const int64_t n : {211, 256, 360, 483, 509, 512, 625, 966, 1000, 1001,
                          1009, 1024, 2018, 2048, 2401, 2862}) {
    CheckAll<double>(n);
    CheckAll<float>(n);
  }
}

// Long lines, whose sums are those of one frequency.
TEST(LineTransformTest, FindsTheFrequencyOfLongLines) {
  LineTransform<float> transform;
  using C = std::complex<float>;
  for (const int64_t n : {8192, 10007, 65536, 65537, 99 * 101, 1 << 18, 1000000,
                          1 << 20, 6 * 4241, 12 * 12 * 199}) {
    std::vector<C> x(n);
    const int64_t frequency = n / 3;
    for (int64_t j = 0; j < n; ++j)
      x[j] = C(std::conj(TurnOf(frequency * j % n, n)));
    C* const line = x.data();
    const C* const from = line;
    transform.Complex({.lines = &from, .count = 1},
                      {.lines = &line, .count = 1}, n, true,
                      1 / static_cast<float>(n));
    for (int64_t k = 0; k < n; ++k) {
      ASSERT_LT(std::abs(x[k] - (k == frequency ? 1.0f : 0.0f)), 1e-6)
          << n << " at " << k;
    }
  }
}

// A line with NaN, infinite or huge elements leaves the others alone.
TEST(LineTransformTest, LinesDoNotMeet) {
  for (const int64_t n : {6, 7, 64, 101, 360, 1009}) {
    for (const bool columns : {false, true}) {
      if (columns && !LineTransform<float>::TakesColumns(n, true)) continue;
      const float nan = std::nanf(""), huge = 1e30f;
      for (const float odd : {nan, huge}) {
        Some<float> in(3, n, columns), back(3, n, columns);
        Some<std::complex<float>> out(3, n / 2 + 1, columns);
        for (int64_t j = 0; j < n; ++j) {
          in.At(0, j) = 0;
          in.At(1, j) = odd;
          in.At(2, j) = 1;
        }
        auto& transform = LineTransform<float>::OfThread();
        transform.RealToHalf(in.in(), out.out(), n, true, 1);
        transform.HalfToReal(out.in(), back.out(), n, false,
                             1 / static_cast<float>(n));
        for (int64_t k = 0; k <= n / 2; ++k)
          EXPECT_EQ(out.At(0, k), std::complex<float>());
        EXPECT_EQ(std::isnan(out.At(1, 0).real()), std::isnan(odd));
        for (int64_t j = 0; j < n; ++j) {
          EXPECT_EQ(back.At(0, j), 0);
          EXPECT_NEAR(back.At(2, j), 1, 1e-6);
        }
      }
    }
  }
}

TEST(LineTransformTest, WhatIsKeptIsBounded) {
  LineTransform<double> transform;
  std::vector<Z> x(3 << 19);
  Z* const line = x.data();
  const Z* const from = line;
  for (const int64_t n :
       {int64_t{3} << 19, int64_t{1} << 20, int64_t{5} << 18, int64_t{1} << 19,
        int64_t{3} << 19, int64_t{10007}, int64_t{200003}}) {
    std::fill(x.begin(), x.end(), Z());
    x[0] = 1;
    transform.Complex({.lines = &from, .count = 1},
                      {.lines = &line, .count = 1}, n, true, 1);
    EXPECT_NEAR(std::abs(x[n - 1] - Z(1)), 0, 1e-12);
    EXPECT_LE(transform.kept(), int64_t{64} << 20);
    EXPECT_GT(transform.kept(), 0);
  }
}

TEST(LineTransformTest, RefusesLengthsThatAreTooLong) {
  LineTransform<float> transform;
  std::complex<float> c;
  std::complex<float>* const line = &c;
  const std::complex<float>* const from = &c;
  for (const int64_t n : {kMaxPoints + 1, int64_t{0}}) {
    EXPECT_ANY_THROW(transform.Complex({.lines = &from, .count = 1},
                                       {.lines = &line, .count = 1}, n, true,
                                       1));
  }
}

}  // namespace
}  // namespace proa::inline v0::ops::fft
