#include <vector>

#include "gtest/gtest.h"
#include "jit/control_flow.h"
#include "jit/program_for_test.h"
#include "jit/verify.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/comparison_ops.h"

namespace proa::inline v0::jit {
namespace {

class ReverseLoopTest : public ::testing::Test {
 protected:
  ReverseLoopTest() {
    loop_.condition = [](const TensorList& v) {
      return ops::less_than(v[0], Tensor::Scalar(3.f));
    };
    loop_.body = [](const TensorList& v) {
      return TensorList{ops::add(v[0], Tensor::Scalar(1.f))};
    };
    // 10 * carried + the variable of the turn: the digits tell the order.
    loop_.turn = [](const TensorList& v) {
      return TensorList{
          ops::add(ops::multiply(v[1], Tensor::Scalar(10.f)), v[0])};
    };
    loop_.carried = {Tensor::Scalar(9.f)};
  }
  ReversedLoop loop_;
};

TEST_F(ReverseLoopTest, GoesBack) {
  loop_.vars = {Tensor::Scalar(0.f)};
  EXPECT_EQ(ReverseLoop(loop_)[0].item<float>(), 9210);
}

TEST_F(ReverseLoopTest, RecordedGoesAsFarAsTheRunSays) {
  const auto program = std::make_shared<Program>();
  loop_.vars = {AddInput(program, "x", {}, DType::kFloat32)};
  const TensorList y = ReverseLoop(loop_);
  EXPECT_TRUE(Verify(*program).ok());
  for (const auto& [from, gives] :
       std::vector<std::pair<float, float>>{{0, 9210}, {2, 92}, {3, 9}}) {
    const std::vector<std::pair<ValueId, Tensor>> feeds = {
        {0, Tensor::Scalar(from)}};
    EXPECT_EQ(RunProgram(y, feeds)[0].item<float>(), gives);
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
