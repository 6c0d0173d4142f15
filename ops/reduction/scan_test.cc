// What the conformance suite cannot see of running sums: long lines, which
// several threads scan together, and their rounding.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/reduction/scan_ops.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

template <class T>
Tensor Filled(const Shape& shape) {
  Tensor t = Tensor::Empty(shape, kDTypeOf<T>);
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.data<T>()[i] = static_cast<T>(static_cast<float>((i * 7919) % 61) / 8);
  }
  return t;
}

TEST(Cumsum, LongLinesOnAnyNumberOfThreads) {
  for (const int64_t n : {1, 15, 33, 2047, 8192, 8193, 70000, 1000003}) {
    const Tensor x = Filled<float>({n});
    Tensor first;
    for (const int threads : {1, 2, 5}) {
      SetNumThreads(threads);
      const Tensor y = ops::cumsum(x);
      if (!first.defined()) first = y;
      ASSERT_EQ(std::memcmp(first.raw_data(), y.raw_data(), y.bytes()), 0);
    }
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += static_cast<double>(x.data<float>()[i]);
      const float got = first.data<float>()[i];
      ASSERT_NEAR(static_cast<double>(got), sum, 4e-6 * sum) << n << " " << i;
      // Sums of what is not negative do not fall.
      if (i > 0) {
        ASSERT_GE(got, first.data<float>()[i - 1]) << n << " " << i;
      }
    }
  }
  SetNumThreads(AvailableCpus());
}

template <class T>
void ExpectExact(const Shape& shape, int axis) {
  const Tensor x = Filled<T>(shape);
  const Tensor y = ops::cumsum(x, axis, kDTypeOf<T>);
  int64_t inner = 1;
  for (int d = axis + 1; d < x.rank(); ++d) inner *= x.size(d);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const bool start = i / inner % x.size(axis) == 0;
    const T before = start ? T(0) : y.data<T>()[i - inner];
    ASSERT_EQ(y.data<T>()[i], before + x.data<T>()[i])
        << ToString(shape) << " axis " << axis << " at " << i;
  }
}

TEST(Cumsum, SmallNumbersOfAnyTypeAddUpExactly) {
  for (const int threads : {1, 3}) {
    SetNumThreads(threads);
    for (const Shape& shape : {Shape{100000}, Shape{3, 40000}, Shape{40, 2100},
                               Shape{5, 33}, Shape{7, 11, 3}}) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        ExpectExact<double>(shape, axis);
        ExpectExact<int64_t>(shape, axis);
        ExpectExact<complex64>(shape, axis);
        ExpectExact<complex128>(shape, axis);
      }
    }
  }
  SetNumThreads(AvailableCpus());
}

TEST(Cumsum, BeyondTheCaches) {
  for (const Shape& shape : {Shape{6 << 20}, Shape{2048, 3001}}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      ExpectExact<double>(shape, axis);
    }
  }
}

TEST(Cumsum, KeepsTheSignOfZeroAndWhatIsBeforeNan) {
  Tensor x = Tensor::Empty({50}, DType::kFloat32);
  std::fill_n(x.data<float>(), 50, -0.f);
  x.data<float>()[40] = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = ops::cumsum(x);
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(std::signbit(y.data<float>()[i]));
  for (int i = 40; i < 50; ++i) EXPECT_TRUE(std::isnan(y.data<float>()[i]));
}

TEST(Cumprod, AZeroIsTheEndOfALongLine) {
  Tensor x = Tensor::Empty({100000}, DType::kFloat32);
  std::fill_n(x.data<float>(), x.numel(), 2.f);
  x.data<float>()[100] = 0;
  const Tensor y = ops::cumprod(x);
  EXPECT_EQ(y.data<float>()[99], std::ldexp(1.f, 100));
  for (int64_t i = 100; i < x.numel(); ++i) ASSERT_EQ(y.data<float>()[i], 0);
}

// Lines go by some at a time.
TEST(Cumprod, ALineIsWhatItIsAlone) {
  for (const int64_t n : {1, 5, 511, 512, 513, 1300}) {
    const Tensor x = Filled<float>({7, n});
    for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] += 0.3f;
    x.data<float>()[n / 2] = 0;
    x.data<float>()[2 * n] = std::numeric_limits<float>::infinity();
    for (const int threads : {1, 3}) {
      SetNumThreads(threads);
      const Tensor y = ops::cumprod(x, 1);
      for (int64_t line = 0; line < 7; ++line) {
        const Tensor alone = Tensor::Empty({n}, DType::kFloat32);
        std::copy_n(x.data<float>() + line * n, n, alone.data<float>());
        const Tensor wanted = ops::cumprod(alone);
        EXPECT_EQ(std::memcmp(y.data<float>() + line * n, wanted.data<float>(),
                              n * sizeof(float)),
                  0)
            << line << " of " << n;
      }
    }
  }
}

}  // namespace
}  // namespace proa::inline v0
