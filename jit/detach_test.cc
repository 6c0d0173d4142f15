#include "jit/detach.h"

#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"

namespace proa::inline v0::jit {
namespace {

Tensor Detached(const Tensor& x) {
  const std::vector<Value> args = {x};
  Value result;
  DetachOp().call(args, std::span(&result, 1));
  return std::get<Tensor>(result);
}

TEST(Detach, IsAnotherHandleOnTheSameElements) {
  const Tensor x = Floats({1, 2});
  const Tensor y = Detached(x);
  EXPECT_NE(y.impl(), x.impl());
  EXPECT_EQ(y.data<float>(), x.data<float>());
}

TEST(Detach, IsAnOperationOfPrograms) {
  EXPECT_EQ(FindOp("detach"), &DetachOp());
  const auto program = std::make_shared<Program>();
  const Tensor y =
      Detached(AddInput(program, "x", {kUnknownDim, 2}, DType::kInt64));
  EXPECT_EQ(ToText(*program),
            "program {\n"
            "  %0 = input \"x\" : [?, 2] int64\n"
            "  %1 = detach(%0) : [?, 2] int64\n"
            "}\n");
  const Tensor x = Tensor::Empty({3, 2}, DType::kInt64);
  EXPECT_EQ(RunProgram({y}, {{0, x}})[0].shape(), x.shape());
}

}  // namespace
}  // namespace proa::inline v0::jit
