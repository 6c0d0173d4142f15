#include "tensor/promotion.h"

#include <gtest/gtest.h>

#include <string>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

constexpr DType T(int i) { return static_cast<DType>(i); }

TEST(Promotion, IsSymmetricIdempotentAndRising) {
  for (int i = 0; i < kNumDTypes; ++i) {
    EXPECT_EQ(Promote(T(i), T(i)), T(i));
    EXPECT_EQ(Promote(DType::kBool, T(i)), T(i));
    for (int j = 0; j < kNumDTypes; ++j) {
      const DType p = Promote(T(i), T(j));
      EXPECT_EQ(p, Promote(T(j), T(i)));
      // The result is an upper bound: promoting again changes nothing.
      EXPECT_EQ(Promote(p, T(i)), p) << Name(T(i)) << " " << Name(T(j));
      EXPECT_EQ(Promote(p, T(j)), p);
      EXPECT_GE(ItemSize(p), std::min(ItemSize(T(i)), ItemSize(T(j))));
    }
  }
}

TEST(Promotion, Examples) {
  EXPECT_EQ(Promote(DType::kUInt8, DType::kInt8), DType::kInt16);
  EXPECT_EQ(Promote(DType::kFloat16, DType::kBFloat16), DType::kFloat32);
  EXPECT_EQ(Promote(DType::kInt64, DType::kFloat16), DType::kFloat16);
  EXPECT_EQ(Promote(DType::kInt32, DType::kInt64), DType::kInt64);
  EXPECT_EQ(Promote(DType::kComplex64, DType::kFloat64), DType::kComplex128);
  EXPECT_EQ(Promote(DType::kFloat16, DType::kComplex64), DType::kComplex64);
}

TEST(Promotion, ScalarsRaiseOnlyTheCategory) {
  EXPECT_EQ(PromoteScalar(DType::kInt8, 'i'), DType::kInt8);
  EXPECT_EQ(PromoteScalar(DType::kInt8, 'b'), DType::kInt8);
  EXPECT_EQ(PromoteScalar(DType::kInt32, 'f'), DType::kFloat32);
  EXPECT_EQ(PromoteScalar(DType::kInt32, 'f', DType::kFloat64),
            DType::kFloat64);
  EXPECT_EQ(PromoteScalar(DType::kFloat16, 'f'), DType::kFloat16);
  EXPECT_EQ(PromoteScalar(DType::kFloat16, 'i'), DType::kFloat16);
  EXPECT_EQ(PromoteScalar(DType::kFloat32, 'c'), DType::kComplex64);
  EXPECT_EQ(PromoteScalar(DType::kFloat64, 'c'), DType::kComplex128);
  EXPECT_EQ(PromoteScalar(DType::kInt64, 'c', DType::kFloat64),
            DType::kComplex128);
  EXPECT_EQ(PromoteScalar(DType::kBool, 'i'), DType::kInt64);
  EXPECT_EQ(PromoteScalar(DType::kBool, 'b'), DType::kBool);
  EXPECT_EQ(PromoteScalar(DType::kComplex64, 'f', DType::kFloat64),
            DType::kComplex64);
  EXPECT_THROW(PromoteScalar(DType::kInt8, 'x'), Error);
}

}  // namespace
}  // namespace proa::inline v0
