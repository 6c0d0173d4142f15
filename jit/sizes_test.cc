// The identity of unknown sizes: which dims of a program's values are known to
// be the same.
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "jit/recorder.h"
#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/int_array.h"
#include "ops/manipulation/arrange_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/sum_ops.h"

namespace proa::inline v0::jit {
namespace {

constexpr int64_t kOpen = kUnknownDim;

class SizesTest : public ::testing::Test {
 protected:
  Tensor Input(const char* name, const Shape& shape) {
    return AddInput(program_, name, shape, DType::kFloat64);
  }
  // Element k of the sizes of `t`, as a list of one.
  static Tensor SizeOf(const Tensor& t, int64_t k) {
    return ops::slice(ops::shape(t), std::vector<int64_t>{0},
                      std::vector<int64_t>{k}, std::vector<int64_t>{k + 1}, {});
  }

  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  Tensor x_ = Input("x", {kOpen, 3, kOpen});
  Tensor y_ = Input("y", {kOpen, 3, kOpen});
};

TEST_F(SizesTest, EachInputHasItsOwn) {
  EXPECT_TRUE(IsNamed(x_.size(0)));
  EXPECT_NE(x_.size(0), x_.size(2));
  EXPECT_NE(x_.size(0), y_.size(0));
  EXPECT_TRUE(ShapesFit(x_.shape(), y_.shape()));
  EXPECT_EQ(x_.shape().numel(), kOpen);
  EXPECT_EQ(ToString(x_.shape()), "[?, 3, ?]");
}

TEST_F(SizesTest, OpsHandThemOn) {
  EXPECT_EQ(ops::relu(x_).shape(), x_.shape());
  EXPECT_EQ(ops::add(x_, x_).shape(), x_.shape());
  EXPECT_EQ(ops::add(x_, Input("row", {3, 1})).shape(), x_.shape());
  const Tensor turned = ops::transpose(x_, std::vector<int64_t>{2, 1, 0});
  EXPECT_EQ(turned.shape(), Shape({x_.size(2), 3, x_.size(0)}));
  EXPECT_EQ(ops::sum(x_, std::vector<int64_t>{1}).shape(),
            Shape({x_.size(0), x_.size(2)}));
}

// One of two different sizes may be 1.
TEST_F(SizesTest, WhatIsComputedIsAnotherSize) {
  const Tensor sum = ops::add(x_, y_);
  EXPECT_TRUE(IsNamed(sum.size(0)));
  EXPECT_NE(sum.size(0), x_.size(0));
  EXPECT_NE(sum.size(0), y_.size(0));
  const Tensor twice = ops::concat(std::vector<Tensor>{x_, x_}, 0);
  EXPECT_NE(twice.size(0), x_.size(0));
  EXPECT_EQ(twice.size(2), x_.size(2));
  const Tensor part =
      ops::slice(x_, std::vector<int64_t>{0}, std::vector<int64_t>{0},
                 std::vector<int64_t>{5}, {});
  EXPECT_NE(part.size(0), x_.size(0));
  const Tensor padded =
      ops::pad(x_, std::vector<int64_t>{0, 1, 0, 0, 0, 0}, "constant");
  EXPECT_NE(padded.size(0), x_.size(0));
  EXPECT_EQ(padded.size(2), x_.size(2));
}

TEST_F(SizesTest, GoThroughTensorsOfSizes) {
  const Tensor flat = ops::reshape(x_, IntArray({-1, 3}));
  EXPECT_TRUE(IsNamed(flat.size(0)));
  const Tensor sizes = ops::concat(
      std::vector<Tensor>{SizeOf(x_, 2), SizeOf(x_, 0), SizeOf(x_, 1)});
  const Tensor back = ops::reshape(flat, IntArray(sizes));
  EXPECT_EQ(back.shape(), Shape({x_.size(2), x_.size(0), 3}));
}

TEST_F(SizesTest, PartsHaveTheSizesOfTheWhole) {
  const Tensor joined = ops::concat(std::vector<Tensor>{x_, x_}, 0);
  const Tensor sections =
      ops::concat(std::vector<Tensor>{SizeOf(x_, 0), SizeOf(x_, 0)});
  const std::vector<Tensor> parts = ops::split(joined, IntArray(sections), 0);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].shape(), x_.shape());
}

}  // namespace
}  // namespace proa::inline v0::jit
