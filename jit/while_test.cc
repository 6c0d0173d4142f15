#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/control_flow.h"
#include "jit/program_for_test.h"
#include "jit/verify.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

Tensor SumBelowTen(const TensorList& v) {
  return ops::less_than(ops::sum(v[0], {}, DType::kFloat32, false),
                        Tensor::Scalar(10.f));
}

TensorList Doubled(const TensorList& v) { return {ops::add(v[0], v[0])}; }

class WhileTest : public ::testing::Test {
 protected:
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
};

TEST_F(WhileTest, GivesTheSameRecordedAndNow) {
  const Tensor x = AddInput(program_, "x", {2}, DType::kFloat32);
  const TensorList y = WhileLoop(SumBelowTen, Doubled, {x});
  EXPECT_EQ(y[0].shape(), Shape({2}));
  EXPECT_TRUE(Verify(*program_).ok());
  EXPECT_NE(ToText(*program_).find("= while([%0]) {"), std::string::npos);
  for (const float start : {1.f, 100.f}) {  // the second: no turn at all
    const Tensor feed = Floats({start, start});
    EXPECT_EQ(Elements(RunProgram(y, {{0, feed}})[0]),
              Elements(WhileLoop(SumBelowTen, Doubled, {feed})[0]));
  }
}

TEST_F(WhileTest, DimsThatTheBodyChangesAreUnknown) {
  const Tensor x = AddInput(program_, "x", {2}, DType::kFloat32);
  const TensorList y = WhileLoop(SumBelowTen,
                                 [](const TensorList& v) {
                                   const Tensor parts[] = {v[0], v[0]};
                                   return TensorList{ops::concat(parts, 0)};
                                 },
                                 {x});
  EXPECT_TRUE(IsUnknown(y[0].size(0)));
  EXPECT_TRUE(Verify(*program_).ok());
  EXPECT_EQ(RunProgram(y, {{0, Floats({1, 1})}})[0].shape(), Shape({16}));
}

TEST_F(WhileTest, ASymbolicConditionRecordsTheRest) {
  const Tensor limit = AddInput(program_, "limit", {}, DType::kFloat32);
  const TensorList y = WhileLoop(
      [&](const TensorList& v) { return ops::less_than(v[0], limit); }, Doubled,
      {Tensor::Scalar(1.f)});
  ASSERT_TRUE(y[0].is_symbolic());
  EXPECT_EQ(RunProgram(y, {{0, Tensor::Scalar(5.f)}})[0].item<float>(), 8);
}

TEST_F(WhileTest, TheBodyKeepsItsVariables) {
  const Tensor x = AddInput(program_, "x", {2}, DType::kFloat32);
  for (const Tensor& start : {x, Floats({1, 1})}) {
    EXPECT_THROW(WhileLoop(SumBelowTen,
                           [](const TensorList& v) {
                             return TensorList{v[0], v[0]};
                           },
                           {start}),
                 Error);
    EXPECT_THROW(
        WhileLoop([](const TensorList& v) { return v[0]; }, Doubled, {start}),
        Error);
    EXPECT_THROW(WhileLoop(SumBelowTen, Doubled, {Tensor(), start}), Error);
  }
  EXPECT_THROW(
      WhileLoop(SumBelowTen,
                [](const TensorList&) { return TensorList{Tensor::Scalar(1)}; },
                {x}),
      Error);
}

}  // namespace
}  // namespace proa::inline v0::jit
