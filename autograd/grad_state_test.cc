#include "autograd/grad_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/engine.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::live_nodes;
using testing::Make;
using testing::Mul;
using testing::MulInplace;
using testing::Values;
using testing::View;

class GradStateTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::InstallTestOps(); }
  void TearDown() override { EXPECT_EQ(live_nodes, 0); }
  static void Run(const Tensor& out) { Backward({&out, 1}, {}, {}); }
};

TEST_F(GradStateTest, PlainTensorIsALeafWithoutGradient) {
  Tensor x = Make({1});
  EXPECT_FALSE(RequiresGrad(x));
  EXPECT_TRUE(IsLeaf(x));
  EXPECT_FALSE(GradEdge(x).node);
  EXPECT_FALSE(GetGrad(x).defined());
  EXPECT_EQ(x.impl()->autograd, nullptr);
  EXPECT_FALSE(RequiresGrad(Tensor()));
  EXPECT_FALSE(GradEdge(Tensor()).node);
}

TEST_F(GradStateTest, LeafHasOneAccumulationNode) {
  Tensor x = Leaf({1});
  EXPECT_TRUE(RequiresGrad(x));
  EXPECT_TRUE(IsLeaf(x));
  Edge a = GradEdge(x), b = GradEdge(x);
  EXPECT_EQ(a.node, b.node);
  SetRequiresGrad(x, false);
  EXPECT_FALSE(GradEdge(x).node);
  SetRequiresGrad(x, true);
  EXPECT_EQ(GradEdge(x).node, a.node);
}

TEST_F(GradStateTest, FlagAloneIsEnough) {
  Tensor x = Make({1});
  x.impl()->flags |= kDifferentiate;
  EXPECT_TRUE(IsLeaf(x));
  EXPECT_TRUE(GradEdge(x).node);
}

TEST_F(GradStateTest, IntegersCannotRequireGrad) {
  Tensor x = Tensor::Empty({2}, DType::kInt64);
  try {
    SetRequiresGrad(x, true);
    FAIL();
  } catch (const TypeError& e) {
    EXPECT_THAT(e.what(), HasSubstr("x is [2] int64"));
  }
  SetRequiresGrad(x, false);
  EXPECT_FALSE(RequiresGrad(x));
}

TEST_F(GradStateTest, ComplexAndHalfCanRequireGrad) {
  for (DType t : {DType::kFloat16, DType::kBFloat16, DType::kComplex64}) {
    Tensor x = Tensor::Empty({2}, t);
    SetRequiresGrad(x, true);
    EXPECT_TRUE(RequiresGrad(x));
  }
}

TEST_F(GradStateTest, IntegerOutputGetsNoHistory) {
  Tensor x = Leaf({1});
  Tensor index = Tensor::Empty({1}, DType::kInt64);
  SetHistory(index, GradEdge(Mul(x, x)).node, 1);
  EXPECT_FALSE(RequiresGrad(index));
  EXPECT_TRUE(IsLeaf(index));
}

TEST_F(GradStateTest, NonLeafCanBeCutAndJoinedAgain) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, Make({2}));
  EXPECT_FALSE(IsLeaf(y));
  SetRequiresGrad(y, true);  // it does already
  SetRequiresGrad(y, false);
  EXPECT_TRUE(IsLeaf(y));
  EXPECT_FALSE(RequiresGrad(Mul(y, y)));
  SetRequiresGrad(y, true);
  Run(Mul(y, Make({5})));
  EXPECT_EQ(Values(GetGrad(x)), std::vector<double>{10});
}

TEST_F(GradStateTest, GradientCanBeSetAndCleared) {
  Tensor x = Leaf({1, 2});
  Tensor g = Make({5, 6});
  SetGrad(x, g);
  EXPECT_TRUE(GetGrad(x).is_same(g));
  EXPECT_THAT(ErrorOf([&] {
                SetGrad(x, Make({1, 2, 3}));
              }),
              HasSubstr("x is [2] float64, grad is [3] float64"));
  Run(Mul(x, Make({1, 1})));
  EXPECT_EQ(Values(GetGrad(x)), (std::vector<double>{6, 7}));
  EXPECT_EQ(Values(g), (std::vector<double>{5, 6}));  // the user's stays
  SetGrad(x, {});
  EXPECT_FALSE(GetGrad(x).defined());
  Tensor plain = Make({1});
  SetGrad(plain, Make({2}));
  EXPECT_EQ(Values(GetGrad(plain)), std::vector<double>{2});
}

TEST_F(GradStateTest, ClearedGradientIsZerosAndTakesTheNextOne) {
  Tensor x = Leaf({1, 2});
  ClearGrad(x);
  EXPECT_FALSE(GetGrad(x).defined());  // there was nothing to clear
  Run(Mul(x, Make({3, 4})));
  const Tensor first = GetGrad(x);
  ClearGrad(x);
  EXPECT_EQ(Values(first), (std::vector<double>{3, 4}));
  EXPECT_FALSE(GradState::Of(x)->grad.defined());  // no memory is held
  const void* arrived = nullptr;
  AddHook(x, [&](const Tensor& g) {
    arrived = g.raw_data();
    return Tensor();
  });
  Run(Mul(x, Make({5, 6})));
  EXPECT_EQ(Values(GetGrad(x)), (std::vector<double>{5, 6}));
  EXPECT_EQ(GetGrad(x).raw_data(), arrived);

  ClearGrad(x);
  ClearGrad(x);
  EXPECT_EQ(Values(GetGrad(x)), (std::vector<double>{0, 0}));
  EXPECT_EQ(GetGrad(x).raw_data(), GetGrad(x).raw_data());
  Run(Mul(x, Make({7, 8})));
  EXPECT_EQ(Values(GetGrad(x)), (std::vector<double>{7, 8}));
  ClearGrad(x);
  SetGrad(x, Tensor());
  EXPECT_FALSE(GetGrad(x).defined());
}

TEST_F(GradStateTest, GradientSetBeforeItRequiresGrad) {
  Tensor x = Make({1});
  SetGrad(x, Make({2}));
  SetRequiresGrad(x, true);
  Run(Mul(x, Make({3})));
  EXPECT_EQ(Values(GetGrad(x)), std::vector<double>{5});
}

TEST_F(GradStateTest, DetachSharesElementsAndVersion) {
  Tensor x = Leaf({1});
  Tensor y = Mul(x, x);
  Tensor d = Detach(y);
  EXPECT_FALSE(RequiresGrad(d));
  EXPECT_EQ(d.raw_data(), y.raw_data());
  d.storage()->BumpVersion();
  EXPECT_EQ(y.version(), 1u);
  Tensor s = Detach(testing::MakeSymbol("s", {1}));
  EXPECT_EQ(testing::Text(s), "s");
}

TEST_F(GradStateTest, RetainedGradient) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, Make({2}));
  Tensor z = Mul(y, Make({5}));
  EXPECT_FALSE(RetainsGrad(y));
  RetainGrad(y);
  RetainGrad(y);
  EXPECT_TRUE(RetainsGrad(y));
  RetainGrad(x);  // a leaf does already
  Backward({&z, 1}, {}, {.retain_graph = true});
  EXPECT_EQ(Values(GetGrad(y)), std::vector<double>{5});
  Run(z);
  EXPECT_EQ(Values(GetGrad(y)), std::vector<double>{10});
  EXPECT_EQ(Values(GetGrad(x)), std::vector<double>{20});
  EXPECT_NE(GetGrad(y).raw_data(), GetGrad(x).raw_data());
  EXPECT_THAT(ErrorOf([] { RetainGrad(Make({1})); }),
              HasSubstr("does not require grad"));
}

TEST_F(GradStateTest, RetainedGradientOfATensorThatIsGone) {
  Tensor x = Leaf({3});
  Tensor z;
  {
    Tensor y = Mul(x, Make({2}));
    RetainGrad(y);
    z = Add(y, y);
  }
  Run(z);
  EXPECT_EQ(Values(GetGrad(x)), std::vector<double>{4});
}

TEST_F(GradStateTest, RetainedGradientFollowsAnInplaceChange) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, Make({2}));
  RetainGrad(y);
  MulInplace(y, Make({7}));
  Run(Add(y, Make({0})));
  EXPECT_EQ(Values(GetGrad(y)), std::vector<double>{1});
  EXPECT_EQ(Values(GetGrad(x)), std::vector<double>{14});
}

TEST_F(GradStateTest, InplaceMakesALeafWithoutGradANonLeaf) {
  Tensor x = Make({3}), w = Leaf({2});
  MulInplace(x, w);
  EXPECT_FALSE(IsLeaf(x));
  EXPECT_TRUE(RequiresGrad(x));
}

TEST_F(GradStateTest, HookNeedsATensorThatRequiresGrad) {
  EXPECT_THAT(
      ErrorOf([] { AddHook(Make({1}), [](auto&) { return Tensor(); }); }),
      HasSubstr("does not require grad"));
  EXPECT_FALSE(RemoveHook(Make({1}), 1));
}

}  // namespace
}  // namespace proa::inline v0::autograd
