// Static mode: what is recorded though no argument is symbolic.
#include "jit/recorder.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "jit/constant.h"
#include "jit/executor.h"
#include "ops/creation/random_ops.h"

namespace proa::inline v0::jit {
namespace {

Tensor Uniform(int64_t n) {
  return ops::uniform(IntArray({n}), DType::kFloat32, Scalar(0.0), Scalar(1.0));
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

}  // namespace
}  // namespace proa::inline v0::jit
