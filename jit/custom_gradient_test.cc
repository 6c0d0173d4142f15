#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/control_flow.h"
#include "jit/program_for_test.h"
#include "jit/verify.h"
#include "ops/elementwise/binary_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

class CustomGradientTest : public ::testing::Test {
 protected:
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  Tensor x_ = AddInput(program_, "x", {2}, DType::kFloat32);
  Tensor y_ = ops::multiply(x_, x_);
};

TEST_F(CustomGradientTest, GivesItsOutputs) {
  const TensorList out =
      CustomGradient({y_}, {x_}, {x_}, [](const TensorList& grads) {
        return TensorList{ops::add(grads[0], grads[0])};
      });
  EXPECT_TRUE(Verify(*program_).ok());
  EXPECT_EQ(Elements(RunProgram(out, {{0, Floats({2, 3})}})[0]),
            std::vector<float>({4, 9}));
  EXPECT_EQ(ToText(*program_),
            "program {\n"
            "  %0 = input \"x\" : [2] float32\n"
            "  %1 = multiply(%0, %0) : [2] float32\n"
            "  (%4) = custom_gradient([%1], [%0], [%0]) {\n"
            "    %2 = argument : [2] float32\n"
            "    %3 = add(%2, %2) : [2] float32\n"
            "    return %3\n"
            "  } : [2] float32\n"
            "}\n");
}

TEST_F(CustomGradientTest, BackwardGivesAGradientForEachInput) {
  const auto two = [](const TensorList& g) { return TensorList{g[0], g[0]}; };
  EXPECT_THROW(CustomGradient({y_}, {x_}, {x_}, two), Error);
  EXPECT_THROW(CustomGradient({Floats({1, 2})}, {x_}, {x_}, two), Error);
}

}  // namespace
}  // namespace proa::inline v0::jit
