#include "autograd/moved_leaf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/testing_ops.h"
#include "tensor/dtype.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {
namespace {

using ::testing::ElementsAre;
using testing::Leaf;
using testing::live_nodes;
using testing::Make;
using testing::Mul;

class MovedLeafTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::InstallTestOps(); }
  void TearDown() override { EXPECT_EQ(live_nodes, 0); }
  static void Run(const Tensor& out) { Backward({&out, 1}, {}, {}); }
  // What a host does while the state is kept, of a float32 value.
  static void Move(const Tensor& x) {
    MovedLeaf kept(x);
    const Tensor value = Tensor::Empty(x.shape(), DType::kFloat32);
    x.impl()->dtype = value.dtype();
    x.impl()->storage = value.impl()->storage;
    x.impl()->data = value.impl()->data;
    x.impl()->flags = value.flags();
    x.impl()->autograd = nullptr;
    kept.Restore();
  }
};

TEST_F(MovedLeafTest, GraphsFromBeforeReachItInItsDtype) {
  Tensor x = Leaf({1, 2});
  const Tensor out = Mul(x, x);
  const Edge before = GradEdge(x);
  Move(x);
  EXPECT_TRUE(RequiresGrad(x));
  EXPECT_EQ(GradEdge(x).node, before.node);
  Run(out);
  const Tensor grad = GetGrad(x);
  ASSERT_EQ(grad.dtype(), DType::kFloat32);
  EXPECT_THAT(
      std::vector<float>(grad.data<float>(), grad.data<float>() + grad.numel()),
      ElementsAre(2, 4));
}

TEST_F(MovedLeafTest, HooksStay) {
  Tensor x = Leaf({3});
  int calls = 0;
  AddHook(x, [&](const Tensor& grad) {
    ++calls;
    return grad;
  });
  const Tensor out = Mul(x, Make({5}));
  Move(x);
  Run(out);
  EXPECT_EQ(calls, 1);
}

TEST_F(MovedLeafTest, WhatNeedsNoGradOrHasAHistoryKeepsNothing) {
  Tensor plain = Make({1}), x = Leaf({2}), product = Mul(x, x);
  Move(plain);
  EXPECT_FALSE(RequiresGrad(plain));
  Move(product);
  EXPECT_FALSE(RequiresGrad(product));
  EXPECT_EQ(product.impl()->autograd, nullptr);
  SetRequiresGrad(x, false);
  Move(x);
  EXPECT_FALSE(RequiresGrad(x));
  SetRequiresGrad(x, true);
  EXPECT_TRUE(IsLeaf(x));
}

}  // namespace
}  // namespace proa::inline v0::autograd
