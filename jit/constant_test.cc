#include "jit/constant.h"

#include <memory>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"
#include "ops/creation/full_ops.h"
#include "ops/creation/random_ops.h"
#include "ops/creation/store_ops.h"
#include "ops/elementwise/binary_ops.h"

namespace proa::inline v0::jit {
namespace {

Tensor Full(double value) {
  return ops::full(IntArray({2}), Scalar(value), DType::kFloat32);
}

class ConstantTest : public ::testing::Test {
 protected:
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
};

TEST_F(ConstantTest, HasElements) {
  const StaticModeScope scope(program_);
  const Tensor x = AddInput(program_, "x", {2}, DType::kFloat32);
  const Tensor draw =
      ops::uniform(IntArray({2}), DType::kFloat32, Scalar(0.0), Scalar(1.0));
  const Tensor three = ops::add(Full(1), Full(2));
  ASSERT_TRUE(IsConstant(three));
  EXPECT_EQ(ElementsOfConstant(three).data<float>()[1], 3);
  for (const Tensor& t : {ops::add(x, three), ops::add(draw, three)}) {
    EXPECT_FALSE(IsConstant(t));
    EXPECT_FALSE(ElementsOfConstant(t).defined());
  }
}

TEST_F(ConstantTest, IsNotMadeOfWhatTheProgramChanges) {
  const Tensor state = Full(1);
  const StaticModeScope scope(program_);
  const Tensor twice = ops::add(state, state);
  EXPECT_TRUE(ElementsOfConstant(twice).defined());
  ops::store_(state, twice);
  EXPECT_FALSE(ElementsOfConstant(ops::add(state, state)).defined());
}

TEST_F(ConstantTest, LeavesItsProgram) {
  Tensor c;
  {
    const StaticModeScope scope(program_);
    c = Full(1);
  }
  const auto other = std::make_shared<Program>();
  const Tensor x = AddInput(other, "x", {2}, DType::kFloat32);
  EXPECT_EQ(SymbolOf(ops::add(x, c)).program(), other);
  EXPECT_TRUE(c.is_symbolic());
  const Tensor sum = ops::add(c, Full(2));  // no program is recorded
  EXPECT_FALSE(sum.is_symbolic());
  EXPECT_FALSE(c.is_symbolic());
  EXPECT_EQ(sum.data<float>()[0], 3);
}

}  // namespace
}  // namespace proa::inline v0::jit
