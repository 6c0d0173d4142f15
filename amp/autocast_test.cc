// Which arguments are cast, and to what, for each class of op; nesting;
// threads.
#include "amp/autocast.h"

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/creation/full_ops.h"
#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/int_array.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/nn/softmax_ops.h"
#include "tensor/error.h"
#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace proa::inline v0::amp {
namespace {

using ::testing::HasSubstr;

Tensor Ones(DType dtype = DType::kFloat32) {
  return ops::full(IntArray({2, 2}), Scalar(1.0), dtype);
}

constexpr DType kLow = DType::kBFloat16;
const Autocast kO1{.dtype = kLow};
const Autocast kO2{.dtype = kLow, .level = AutocastLevel::kO2};

TEST(AutocastTest, EachClass) {
  const Tensor x = Ones(), low = Ones(kLow);
  const AutocastScope scope(kO1);
  EXPECT_EQ(ops::matmul(x, x).dtype(), kLow);
  EXPECT_EQ(ops::matmul(low, x).dtype(), kLow);
  EXPECT_EQ(ops::softmax(low).dtype(), DType::kFloat32);
  EXPECT_EQ(ops::relu(x).dtype(), DType::kFloat32);
  EXPECT_EQ(ops::relu(low).dtype(), kLow);
  EXPECT_EQ(ops::add(low, x).dtype(), DType::kFloat32);
  EXPECT_EQ(ops::add(low, low).dtype(), kLow);
  const Tensor both[] = {low, x};
  EXPECT_EQ(ops::concat(both).dtype(), DType::kFloat32);
}

TEST(AutocastTest, OtherDtypesAreLeftAlone) {
  const AutocastScope scope(kO2);
  EXPECT_EQ(ops::matmul(Ones(DType::kFloat64), Ones(DType::kFloat64)).dtype(),
            DType::kFloat64);
  EXPECT_EQ(ops::add(Ones(DType::kInt32), Ones(DType::kInt32)).dtype(),
            DType::kInt32);
}

TEST(AutocastTest, LevelO2) {
  const Tensor x = Ones();
  const AutocastScope scope(kO2);
  EXPECT_EQ(ops::relu(x).dtype(), kLow);
  // Of several arguments too, where O1 keeps float32.
  EXPECT_EQ(ops::add(x, x).dtype(), kLow);
  const Tensor both[] = {x, ops::cast(x, kLow)};
  EXPECT_EQ(ops::concat(both).dtype(), kLow);
  EXPECT_EQ(ops::softmax(x).dtype(), DType::kFloat32);
  EXPECT_EQ(ops::cast(x, DType::kFloat32).dtype(), DType::kFloat32);
  EXPECT_EQ(ops::reshape(x, {4}).dtype(), DType::kFloat32);
}

TEST(AutocastTest, AChangeInPlaceKeepsItsDtype) {
  Tensor x = Ones();
  const AutocastScope scope(kO2);
  ops::relu_(x);
  EXPECT_EQ(x.dtype(), DType::kFloat32);
}

TEST(AutocastTest, Lists) {
  const Tensor x = Ones();
  const AutocastScope scope(
      {.dtype = kLow, .lower = {"relu"}, .raise = {"matmul"}});
  EXPECT_EQ(ops::relu(x).dtype(), kLow);
  EXPECT_EQ(ops::matmul(x, x).dtype(), DType::kFloat32);
}

TEST(AutocastTest, NamesOfTheReference) {
  const Tensor x = Ones();
  const AutocastScope scope(
      {.dtype = kLow, .lower = {"elementwise_add"}, .raise = {"matmul_v2"}});
  EXPECT_EQ(ops::add(x, x).dtype(), kLow);
  EXPECT_EQ(ops::matmul(x, x).dtype(), DType::kFloat32);
}

TEST(AutocastTest, Nesting) {
  const Tensor x = Ones();
  EXPECT_EQ(CurrentAutocast(), nullptr);
  {
    const AutocastScope scope(kO1);
    EXPECT_EQ(CurrentAutocast()->dtype, kLow);
    {
      const AutocastScope inner({.dtype = DType::kFloat16});
      EXPECT_EQ(ops::matmul(x, x).dtype(), DType::kFloat16);
      const uint32_t before = ExchangeAutocast(0);
      EXPECT_EQ(ops::matmul(x, x).dtype(), DType::kFloat32);
      ExchangeAutocast(before);
    }
    EXPECT_EQ(ops::matmul(x, x).dtype(), kLow);
  }
  EXPECT_EQ(ops::matmul(x, x).dtype(), DType::kFloat32);
}

TEST(AutocastTest, SettingsAreOfAThread) {
  const Tensor x = Ones();
  const AutocastScope scope(kO1);
  std::thread([&x] {
    EXPECT_EQ(CurrentAutocast(), nullptr);
    EXPECT_EQ(ops::matmul(x, x).dtype(), DType::kFloat32);
    const AutocastScope own({.dtype = DType::kFloat16});
    EXPECT_EQ(ops::matmul(x, x).dtype(), DType::kFloat16);
  }).join();
  EXPECT_EQ(ops::matmul(x, x).dtype(), kLow);
}

std::string ErrorOf(const Autocast& settings) {
  try {
    RegisterAutocast(settings);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(AutocastTest, EqualSettingsHaveOneNumber) {
  EXPECT_EQ(RegisterAutocast(kO1), RegisterAutocast({.dtype = kLow}));
  EXPECT_NE(RegisterAutocast(kO1), RegisterAutocast(kO2));
}

TEST(AutocastTest, BadSettings) {
  EXPECT_THAT(ErrorOf({.dtype = DType::kFloat32}),
              HasSubstr("must be float16 or bfloat16, not float32"));
  EXPECT_THAT(ErrorOf({.lower = {"nosuch"}}), HasSubstr("'nosuch'"));
  EXPECT_THAT(ErrorOf({.lower = {"relu"}, .raise = {"relu"}}),
              HasSubstr("relu is in the list"));
}

}  // namespace
}  // namespace proa::inline v0::amp
