// Static mode: what is recorded though no argument is symbolic, which values
// can be read before the program runs, and which changes a pruned program
// keeps.
#include "jit/recorder.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "jit/constant.h"
#include "jit/executor.h"
#include "jit/prune.h"
#include "ops/creation/full_ops.h"
#include "ops/creation/random_ops.h"
#include "ops/creation/store_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

Tensor Uniform(int64_t n) {
  return ops::uniform(IntArray({n}), DType::kFloat32, Scalar(0.0), Scalar(1.0));
}

Tensor Full(double value) {
  return ops::full(IntArray({2}), Scalar(value), DType::kFloat32);
}

class StaticModeTest : public ::testing::Test {
 protected:
  Tensor Run(const Tensor& fetch) {
    return Executor(*program_, {SymbolOf(fetch).id()}).Run({})[0];
  }

  std::shared_ptr<Program> program_ = std::make_shared<Program>();
};

TEST_F(StaticModeTest, DrawsAnewInEachRun) {
  Tensor draw;
  {
    const StaticModeScope scope(program_);
    draw = Uniform(8);
    EXPECT_TRUE(draw.is_symbolic());
    EXPECT_EQ(draw.shape(), Shape({8}));
    EXPECT_FALSE(IsConstant(draw));
  }
  EXPECT_FALSE(Uniform(8).is_symbolic());
  const Tensor a = Run(draw), b = Run(draw);
  bool same = true;
  for (int i = 0; i < 8; ++i) {
    same &= a.data<float>()[i] == b.data<float>()[i];
  }
  EXPECT_FALSE(same);
}

TEST_F(StaticModeTest, ConstantsHaveElements) {
  const StaticModeScope scope(program_);
  const Tensor x = AddInput(program_, "x", {2}, DType::kFloat32);
  const Tensor three = ops::add(Full(1), Full(2));
  ASSERT_TRUE(IsConstant(three));
  EXPECT_EQ(ElementsOfConstant(three).data<float>()[1], 3);
  for (const Tensor& t : {ops::add(x, three), ops::add(Uniform(2), three)}) {
    EXPECT_FALSE(IsConstant(t));
    EXPECT_FALSE(ElementsOfConstant(t).defined());
  }
}

TEST_F(StaticModeTest, NoConstantIsMadeOfWhatTheProgramChanges) {
  const Tensor state = Full(1);
  const StaticModeScope scope(program_);
  const Tensor twice = ops::add(state, state);
  EXPECT_TRUE(ElementsOfConstant(twice).defined());
  ops::store_(state, twice);
  EXPECT_FALSE(ElementsOfConstant(ops::add(state, state)).defined());
}

TEST_F(StaticModeTest, AConstantLeavesItsProgram) {
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

TEST_F(StaticModeTest, PruningKeepsChangesOfWhatIsRead) {
  const Tensor count = Full(0), unread = Full(0);
  Tensor out;
  {
    const StaticModeScope scope(program_);
    ops::store_(count, ops::add(count, Full(1)));
    ops::store_(unread, count);
    out = ops::add(count, Full(0));
  }
  Module module;
  module.program = program_;
  module.outputs = {SymbolOf(out).id()};
  module.output_names = {"out"};
  const Module kept = Prune(module, Changes::kRead);
  const Executor executor(*kept.program, kept.outputs);
  for (const float want : {1, 2, 3}) {
    EXPECT_EQ(executor.Run({})[0].data<float>()[0], want);
  }
  EXPECT_EQ(unread.data<float>()[0], 0);
  const Module none = Prune(module, Changes::kNone);
  EXPECT_EQ(none.program->block().operations.size(), 2);  // full, add
}

}  // namespace
}  // namespace proa::inline v0::jit
