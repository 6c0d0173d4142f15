// The gradient of a call with a number that only the run knows. What the
// gradients of every function are, a test in Python asks
// (late_attributes_test).
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "gtest/gtest.h"
#include "jit/late_call.h"
#include "jit/program_for_test.h"
#include "jit/region_op.h"
#include "jit/verify.h"
#include "ops/boxed_call.h"
#include "ops/definition.h"

namespace proa::inline v0::jit {
namespace {

Tensor Number(int64_t n) {
  Tensor t = Tensor::Empty({}, DType::kInt64);
  *t.data<int64_t>() = n;
  return t;
}

TEST(LateCallGrad, IsOneOperationThatKnowsTheNumber) {
  const auto program = std::make_shared<Program>();
  Tensor x = AddInput(program, "x", {6}, DType::kFloat32);
  autograd::SetRequiresGrad(x, true);
  const Tensor k = AddInput(program, "k", {}, DType::kInt64);
  const OpDefinition* topk = FindOp("topk");
  std::vector<Value> results(2);
  CallBoxed(*topk, std::vector<Value>{x, k, int64_t{-1}, true, true}, results);
  const Tensor outputs[] = {std::get<Tensor>(results[0])};
  const Tensor inputs[] = {x};
  const TensorList grad = autograd::Grad(outputs, inputs, {}, {}, false, {});
  const absl::Status s = Verify(*program);
  EXPECT_TRUE(s.ok()) << s;
  EXPECT_NE(ToText(*program).find("= gradient(["), std::string::npos);
  const Tensor feed = Floats({0, 5, 1, 4, 2, 3});
  EXPECT_EQ(Elements(RunProgram(grad, {{0, feed}, {1, Number(2)}})[0]),
            std::vector<float>({0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(Elements(RunProgram(grad, {{0, feed}, {1, Number(4)}})[0]),
            std::vector<float>({0, 1, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace proa::inline v0::jit
