#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <string>

namespace proa::inline v0 {
namespace {

TEST(DType, Table) {
  EXPECT_EQ(Name(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(ItemSize(DType::kComplex128), 16);
  EXPECT_TRUE(IsInteger(DType::kUInt8));
  EXPECT_FALSE(IsInteger(DType::kBool));
  EXPECT_TRUE(IsDifferentiable(DType::kComplex64));
  EXPECT_FALSE(IsDifferentiable(DType::kInt64));
  EXPECT_EQ(RealType(DType::kComplex128), DType::kFloat64);
  EXPECT_EQ(RealType(DType::kInt8), DType::kInt8);
}

TEST(DType, NamesParseBack) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType t = static_cast<DType>(i);
    EXPECT_EQ(ParseDType(Name(t)), t);
  }
  EXPECT_EQ(ParseDType(""), std::nullopt);
  EXPECT_EQ(ParseDType("float"), std::nullopt);
  EXPECT_EQ(ParseDType("Float32"), std::nullopt);
}

TEST(DType, VisitFindsTheType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType t = static_cast<DType>(i);
    VisitDType(t, [&]<typename T>(TypeTag<T>) {
      EXPECT_EQ(kDTypeOf<T>, t);
      EXPECT_EQ(static_cast<int64_t>(sizeof(T)), ItemSize(t));
    });
  }
}

}  // namespace
}  // namespace proa::inline v0
