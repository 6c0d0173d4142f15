#include "autograd/inplace.h"

#include <cstdint>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/allocator.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using testing::AddInplace;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::Make;
using testing::Mul;
using testing::MulInplace;
using testing::Part;
using testing::Values;
using testing::View;

class InplaceTest : public ::testing::Test {
 protected:
  InplaceTest() { testing::InstallTestOps(); }
  static void Run(const Tensor& y) {
    Backward({&y, 1}, {}, {.retain_graph = true});
  }
  // d(sum of y)/dx, differentiable itself.
  static Tensor GradOf(const Tensor& y, const Tensor& x) {
    return Grad({&y, 1}, {&x, 1}, {},
                {.retain_graph = true, .create_graph = true}, false, {})[0];
  }
};

TEST_F(InplaceTest, ALeafNeedsNoGrad) {
  Tensor x = Leaf({1});
  EXPECT_THAT(ErrorOf([&] { CheckInplace("relu_", x); }),
              HasSubstr("relu_: cannot change x in place; x is [1] float64, a "
                        "leaf that requires grad (its stop_gradient is False); "
                        "change it under no_grad"));
  EXPECT_THAT(ErrorOf([&] { CheckInplaceReshape("reshape_", x); }),
              HasSubstr("reshape_: cannot change x in place"));
  auto no_grad = InterpreterScope::Forbid(kDifferentiate);
  CheckInplace("relu_", x);
  CheckInplaceReshape("reshape_", x);
  CheckInplace("relu_", Make({1}));
}

TEST_F(InplaceTest, AViewOfALeafHasAHistoryOfItsOwn) {
  Tensor x = Leaf({1, 2}), w = Leaf({5});
  Tensor v = Part(x, 0, 1), other = Part(x, 0, 2);
  AddInplace(v, w);
  EXPECT_TRUE(IsLeaf(x));
  EXPECT_THAT(Values(x), ElementsAre(6, 2));
  Run(v);
  EXPECT_THAT(Values(GetGrad(x)), ElementsAre(1, 0));
  EXPECT_THAT(Values(GetGrad(w)), ElementsAre(1));
  // The leaf and its other views are those of a leaf with these values.
  Run(Mul(other, other));
  EXPECT_THAT(Values(GetGrad(x)), ElementsAre(13, 4));
  CheckInplaceReshape("reshape_", v);
}

TEST_F(InplaceTest, AViewMadeUnderNoGrad) {
  Tensor x = Leaf({1, 2});
  Tensor y = Mul(x, x);
  Tensor v;
  {
    auto no_grad = InterpreterScope::Forbid(kDifferentiate);
    v = Part(y, 0, 1);
    MulInplace(v, Make({2}));  // fine: nothing is recorded
  }
  EXPECT_THAT(ErrorOf([&] { MulInplace(v, Leaf({2})); }),
              HasSubstr("a view made under no_grad"));
  y = Tensor();
  MulInplace(v, Leaf({2}));  // nobody else sees the elements
  EXPECT_TRUE(RequiresGrad(v));
}

TEST_F(InplaceTest, AChangeOfAViewReachesItsRoot) {
  Tensor x = Leaf({2, 3, 4}), w = Leaf({5});
  Tensor b = Mul(x, Make({1, 1, 1}));
  Tensor v = Part(b, 1, 1);
  MulInplace(v, Make({7}));
  AddInplace(v, w);
  EXPECT_THAT(Values(b), ElementsAre(2, 26, 4));
  Run(Mul(b, Make({10, 20, 30})));
  EXPECT_THAT(Values(GetGrad(x)), ElementsAre(10, 140, 30));
  EXPECT_THAT(Values(GetGrad(w)), ElementsAre(20));
}

TEST_F(InplaceTest, AChangeReachesAllViews) {
  Tensor x = Leaf({2, 3, 4}), w = Leaf({5, 6});
  Tensor b = Mul(x, Make({1, 1, 1}));
  Tensor before = Part(Part(b, 0, 3), 1, 2);
  Tensor v = Part(b, 0, 2);
  MulInplace(v, Make({7, 8}));
  AddInplace(v, w);
  Tensor after = Part(b, 1, 2);
  EXPECT_THAT(Values(before), ElementsAre(30, 4));
  EXPECT_FALSE(IsLeaf(before));
  Run(Mul(before, Make({10, 20})));
  EXPECT_THAT(Values(GetGrad(x)), ElementsAre(0, 80, 20));
  EXPECT_THAT(Values(GetGrad(w)), ElementsAre(0, 10));
  Run(Mul(after, Make({1, 1})));
  EXPECT_THAT(Values(GetGrad(w)), ElementsAre(0, 11));
}

TEST_F(InplaceTest, AChangeOfTheRootReachesItsViews) {
  Tensor x = Leaf({2, 3}), w = Leaf({5, 6});
  Tensor b = Mul(x, Make({1, 1}));
  Tensor v = Part(b, 1, 1);
  MulInplace(b, Make({7, 8}));
  AddInplace(b, w);
  Run(Mul(v, Make({10})));
  EXPECT_THAT(Values(GetGrad(x)), ElementsAre(0, 80));
  EXPECT_THAT(Values(GetGrad(w)), ElementsAre(0, 10));
}

TEST_F(InplaceTest, ARootStartsToRequireGrad) {
  Tensor b = Make({1, 2, 3}), w = Leaf({5});
  Tensor v = Part(b, 1, 1), other = Part(b, 0, 2), apart = Part(b, 2, 1);
  EXPECT_FALSE(RequiresGrad(other));
  AddInplace(v, w);
  for (const Tensor& t : {b, v, other, apart}) {
    EXPECT_TRUE(RequiresGrad(t));
    EXPECT_FALSE(IsLeaf(t));
  }
  Run(Mul(other, Make({10, 20})));
  EXPECT_THAT(Values(GetGrad(w)), ElementsAre(20));
  SetGrad(w, {});
  Run(Mul(apart, Make({1})));
  EXPECT_THAT(Values(GetGrad(w)), ElementsAre(0));
}

TEST_F(InplaceTest, TheOldValueOfAViewIsNeeded) {
  Tensor b = Make({1, 2}), w = Leaf({5});
  Tensor v = Part(b, 0, 1);
  MulInplace(v, w);
  EXPECT_THAT(ErrorOf([&] { Run(b); }),
              HasSubstr("saved for multiply's backward was changed in place by "
                        "multiply_"));
}

TEST_F(InplaceTest, AViewMadeBeforeItsRootBecameALeafIsAConstant) {
  Tensor b = Make({1, 2}), w = Leaf({5});
  Tensor v = Part(b, 0, 1);
  SetRequiresGrad(b, true);
  EXPECT_FALSE(RequiresGrad(v));
  AddInplace(v, w);
  Run(v);
  EXPECT_FALSE(GetGrad(b).defined());
  EXPECT_THAT(Values(GetGrad(w)), ElementsAre(1));
}

TEST_F(InplaceTest, AViewThatStopsToRequireGradGoesItsOwnWay) {
  Tensor x = Leaf({2, 3}), w = Leaf({5});
  Tensor b = Mul(x, Make({1, 1}));
  Tensor v = Part(b, 0, 1);
  SetRequiresGrad(v, false);
  MulInplace(b, Make({7, 7}));
  EXPECT_FALSE(RequiresGrad(v));
  SetRequiresGrad(v, true);
  EXPECT_TRUE(IsLeaf(v));
  EXPECT_THAT(ErrorOf([&] { MulInplace(v, w); }), HasSubstr("a leaf"));
}

TEST_F(InplaceTest, ManyWritesAndHigherOrders) {
  // b = x * x; b0 = 7 b0 + w w; b1 += b0; f = b0 + b1.
  Tensor x = Leaf({2, 3}), w = Leaf({5});
  Tensor b = Mul(x, x);
  Tensor v = Part(b, 0, 1), u = Part(b, 1, 1);
  MulInplace(v, Make({7}));
  AddInplace(v, Mul(w, w));
  AddInplace(u, v);
  Tensor g = GradOf(b, x);  // 28 x0, 2 x1
  EXPECT_THAT(Values(g), ElementsAre(56, 6));
  Tensor gw = GradOf(b, w);  // 4 w
  EXPECT_THAT(Values(gw), ElementsAre(20));
  MulInplace(g, Make({2, 3}));
  AddInplace(Part(g, 0, 1), gw);  // 56 x0 + 4 w, 6 x1
  EXPECT_THAT(Values(GradOf(g, x)), ElementsAre(56, 6));
  EXPECT_THAT(Values(GradOf(g, w)), ElementsAre(4));
}

TEST_F(InplaceTest, AConstantInPlaceOfAHistory) {
  Tensor x = Leaf({2, 3});
  Tensor b = Mul(x, Make({1, 1}));
  Tensor v = Part(b, 0, 1), u = Part(b, 0, 2);
  AssignHistory(v, Make({7}));
  Run(Mul(u, Make({1, 1})));
  EXPECT_THAT(Values(GetGrad(x)), ElementsAre(0, 1));
  AssignHistory(b, Make({7, 8}));
  EXPECT_FALSE(RequiresGrad(b));
  Run(Mul(v, Leaf({1})));
  EXPECT_THAT(Values(GetGrad(x)), ElementsAre(0, 1));
}

TEST_F(InplaceTest, RetainedGradientOfAViewFollowsAChangeOfItsRoot) {
  Tensor x = Leaf({2, 3});
  Tensor b = Mul(x, Make({1, 1}));
  Tensor v = Part(b, 0, 1);
  RetainGrad(v);
  MulInplace(b, Make({5, 5}));
  Run(Mul(v, Make({7})));
  EXPECT_THAT(Values(GetGrad(v)), ElementsAre(7));
  EXPECT_THAT(Values(GetGrad(x)), ElementsAre(35, 0));
}

TEST_F(InplaceTest, ARootOfForeignStridesIsRefused) {
  Tensor b = Make({1, 2, 3, 4}).AsStrided({2}, {2}, 0);
  Tensor strided = Detach(b);
  Tensor v = Part(strided, 0, 1);
  EXPECT_THAT(ErrorOf([&] { MulInplace(v, Leaf({2})); }),
              HasSubstr("elements do not lie one after the other"));
}

TEST_F(InplaceTest, NothingIsHeldAfterwards) {
  const int nodes = testing::live_nodes;
  Leaf({1});  // whatever is taken once
  const int64_t bytes = CpuAllocator().Figures().allocated;
  for (int i = 0; i < 1000; ++i) {
    Tensor x = Leaf(std::vector<double>(100, 1.0));
    Tensor b = Mul(x, x);
    Tensor v = Part(b, 0, 50), u = Part(v, 10, 50 - 10);
    AddInplace(v, v);
    AddInplace(b, b);
    if (i % 2 == 0) Run(Add(Part(b, 50, 20), Part(v, 0, 20)));
    // Saved and overwritten: no backward can come of it.
    AddInplace(u, Mul(u, u));
    MulInplace(b, b);
  }
  EXPECT_EQ(testing::live_nodes, nodes);
  EXPECT_EQ(CpuAllocator().Figures().allocated, bytes);
}

}  // namespace
}  // namespace proa::inline v0::autograd
