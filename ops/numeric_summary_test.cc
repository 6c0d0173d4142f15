#include "ops/numeric_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "tensor/bfloat16.h"
#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace proa::inline v0 {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T>
Tensor Vector(const std::vector<T>& values) {
  const auto n = static_cast<int64_t>(values.size());
  Tensor t = Tensor::Empty({n}, kDTypeOf<T>);
  for (int64_t i = 0; i < n; ++i) t.data<T>()[i] = values[i];
  return t;
}

template <typename T>
class FloatTypes : public testing::Test {};
using Floats = testing::Types<float16, bfloat16, float, double>;
TYPED_TEST_SUITE(FloatTypes, Floats);

TYPED_TEST(FloatTypes, CountsAndFigures) {
  using T = TypeParam;
  const Tensor t = Vector<T>({T(1.0f), T(static_cast<float>(kNan)), T(-3.0f),
                              T(static_cast<float>(-kInf)), T(0.0f),
                              T(static_cast<float>(kInf))});
  const NumericSummary s = Summarize(t);
  EXPECT_EQ(s.nan, 1);
  EXPECT_EQ(s.inf, 2);
  EXPECT_EQ(s.zero, 1);
  EXPECT_EQ(s.finite, 3);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.max, 1);
  EXPECT_NEAR(s.mean, -2.0 / 3, 1e-12);
  EXPECT_TRUE(HasNonFinite(t));
}

TYPED_TEST(FloatTypes, FindsOneAnywhere) {
  using T = TypeParam;
  constexpr int64_t kSize = 9001;
  Tensor t = Tensor::Empty({kSize}, kDTypeOf<T>);
  for (int64_t i = 0; i < kSize; ++i) {
    t.data<T>()[i] = std::numeric_limits<T>::max();
  }
  EXPECT_FALSE(HasNonFinite(t));
  for (const int64_t at :
       {int64_t{0}, int64_t{4095}, int64_t{4096}, kSize - 1}) {
    const T before = t.data<T>()[at];
    t.data<T>()[at] = T(static_cast<float>(kInf));
    EXPECT_TRUE(HasNonFinite(t)) << at;
    t.data<T>()[at] = T(static_cast<float>(kNan));
    EXPECT_TRUE(HasNonFinite(t)) << at;
    t.data<T>()[at] = before;
  }
}

TEST(NumericSummary, OfLargeValuesTheMeanIsFinite) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_DOUBLE_EQ(Summarize(Vector<double>({most, most, most})).mean, most);
}

TEST(NumericSummary, ComplexByElement) {
  const Tensor t =
      Vector<complex64>({{3, 4},
                         {static_cast<float>(kNan), 0},
                         {static_cast<float>(kInf), static_cast<float>(kNan)},
                         {0, static_cast<float>(-kInf)}});
  const NumericSummary s = Summarize(t);
  EXPECT_EQ(s.nan, 2);
  EXPECT_EQ(s.inf, 1);
  EXPECT_EQ(s.max, 5);
  EXPECT_TRUE(HasNonFinite(t));
  EXPECT_FALSE(HasNonFinite(Vector<complex128>({{1, 2}})));
}

TEST(NumericSummary, IntegersEmptyAndScalars) {
  const Tensor ints = Vector<int64_t>({4, -2});
  EXPECT_FALSE(HasNonFinite(ints));
  EXPECT_EQ(Summarize(ints).mean, 1);
  const Tensor none = Tensor::Empty({0, 3}, DType::kFloat32);
  EXPECT_FALSE(HasNonFinite(none));
  EXPECT_EQ(Describe(Summarize(none)), "0 NaN, 0 Inf");
  EXPECT_TRUE(HasNonFinite(Tensor::Scalar(static_cast<float>(kNan))));
}

TEST(NumericSummary, StridedView) {
  const Tensor t = Vector<float>({1, static_cast<float>(kNan), 3, 4});
  EXPECT_FALSE(HasNonFinite(t.AsStrided({2}, {2}, 0)));
  EXPECT_TRUE(HasNonFinite(t.AsStrided({2}, {2}, 1)));
  EXPECT_EQ(Summarize(t.AsStrided({2}, {2}, 0)).mean, 2);
}

TEST(NumericSummary, AsText) {
  EXPECT_EQ(Describe(Summarize(Vector<double>({-1, 4, kNan}))),
            "1 NaN, 0 Inf, min -1, max 4, mean 1.5");
}

}  // namespace
}  // namespace proa::inline v0
