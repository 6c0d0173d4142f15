// Tests of hooks on the gradients of tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "autograd/testing_passes.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::Make;
using testing::Mul;
using testing::Split;
using testing::Values;
using V = std::vector<double>;

class EngineHooksTest : public testing::PassTest {
 protected:
  // Keeps the gradient and writes it down.
  static TensorHook Note(std::vector<V>* seen) {
    return [seen](const Tensor& grad) {
      seen->push_back(Values(grad));
      return Tensor();
    };
  }
  static TensorHook Times(double factor) {
    return [factor](const Tensor& grad) { return Mul(grad, Make({factor})); };
  }
};

TEST_F(EngineHooksTest, OnALeafSeesTheSumOncePerPass) {
  Tensor x = Leaf({3});
  std::vector<V> seen;
  AddHook(x, Note(&seen));
  Run(Mul(x, x));
  Run(Mul(x, x));
  EXPECT_EQ(seen, (std::vector<V>{{6}, {6}}));
  EXPECT_EQ(Values(GetGrad(x)), V{12});
}

TEST_F(EngineHooksTest, OnANonLeafSeesTheSum) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, Make({2}));
  std::vector<V> seen;
  AddHook(y, Note(&seen));
  Run(Add(Mul(y, y), y));
  EXPECT_EQ(seen, (std::vector<V>{{13}}));
}

TEST_F(EngineHooksTest, OnTheOutput) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, x);
  AddHook(y, Times(10));
  Run(y);
  EXPECT_EQ(Values(GetGrad(x)), V{60});
}

TEST_F(EngineHooksTest, ChangeTheGradientInOrder) {
  Tensor x = Leaf({1});
  Tensor y = Mul(x, Make({1}));
  std::vector<V> seen;
  AddHook(y, Note(&seen));
  AddHook(y, [](const Tensor& g) { return Add(g, Make({1})); });
  AddHook(y, Note(&seen));
  AddHook(y, Times(10));
  AddHook(x, Times(100));
  RetainGrad(y);  // last, whenever it was asked for
  AddHook(y, Note(&seen));
  Run(y);
  EXPECT_EQ(seen, (std::vector<V>{{1}, {2}, {20}}));
  EXPECT_EQ(Values(GetGrad(y)), V{20});
  EXPECT_EQ(Values(GetGrad(x)), V{2000});
}

TEST_F(EngineHooksTest, OnOneOutputOfANodeWithTwo) {
  Tensor x = Leaf({1, 2});
  auto [a, b] = Split(x);
  AddHook(b, Times(7));
  int called = 0;
  AddHook(a, [&](const Tensor&) { return ++called, Tensor(); });
  Run(b);  // none flows into a: its hook has nothing to see
  EXPECT_EQ(called, 0);
  EXPECT_EQ(Values(GetGrad(x)), (V{0, 7}));
}

TEST_F(EngineHooksTest, Removed) {
  Tensor x = Leaf({1});
  const int64_t a = AddHook(x, Times(10));
  AddHook(x, Times(3));
  EXPECT_TRUE(RemoveHook(x, a));
  EXPECT_FALSE(RemoveHook(x, a));
  Run(Mul(x, Make({1})));
  EXPECT_EQ(Values(GetGrad(x)), V{3});
}

TEST_F(EngineHooksTest, MayRemoveItselfAndAddOthers) {
  Tensor x = Leaf({1});
  int64_t id = 0;
  id = AddHook(x, [&](const Tensor& g) {
    EXPECT_TRUE(RemoveHook(x, id));
    AddHook(x, Times(5));  // from the next pass on
    return Mul(g, Make({2}));
  });
  Tensor out = Mul(x, Make({1}));
  Run(out, {.retain_graph = true});
  EXPECT_EQ(Values(GetGrad(x)), V{2});
  SetGrad(x, {});
  Run(out);
  EXPECT_EQ(Values(GetGrad(x)), V{5});
}

TEST_F(EngineHooksTest, StaysWhenTheTensorIsGone) {
  Tensor x = Leaf({1});
  Tensor z;
  {
    Tensor y = Mul(x, Make({1}));
    AddHook(y, Times(10));
    z = Mul(y, Make({1}));
  }
  Run(z);
  EXPECT_EQ(Values(GetGrad(x)), V{10});
}

TEST_F(EngineHooksTest, ThatThrowsLeavesTheEngineUsable) {
  Tensor x = Leaf({1});
  Tensor y = Mul(x, Make({2}));
  bool fail = true;
  AddHook(y, [&](const Tensor&) {
    if (fail) throw std::runtime_error("hook");
    return Tensor();
  });
  Tensor out = Add(y, y);
  EXPECT_THROW(Run(out, {.retain_graph = true}), std::runtime_error);
  fail = false;
  Run(out);
  EXPECT_EQ(Values(GetGrad(x)), V{4});
}

TEST_F(EngineHooksTest, ThatReturnsAnotherShape) {
  Tensor x = Leaf({1});
  AddHook(x, [](const Tensor&) { return Make({1, 2}); });
  EXPECT_THAT(ErrorOf([&] { Run(Mul(x, x)); }),
              HasSubstr("returned [2] float64 for a gradient that is [1] "
                        "float64"));
}

TEST_F(EngineHooksTest, RunsBeforeGradCaptures) {
  Tensor x = Leaf({1});
  Tensor y = Mul(x, Make({2}));
  AddHook(y, Times(10));
  AddHook(x, Times(3));
  RetainGrad(y);
  Tensor z = Mul(y, Make({1}));
  const Tensor inputs[] = {x, y};
  std::vector<Tensor> g = Grad({&z, 1}, inputs, {}, {}, false, {});
  EXPECT_EQ(Values(g[0]), V{60});
  EXPECT_EQ(Values(g[1]), V{10});
  EXPECT_FALSE(GetGrad(y).defined());  // Grad accumulates nowhere
}

TEST_F(EngineHooksTest, OfHigherOrderIsDifferentiated) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, x);
  AddHook(y, [](const Tensor& g) { return Mul(g, g); });
  Tensor v = Leaf({5});
  Tensor g = Grad({&y, 1}, {&x, 1}, {&v, 1},
                  {.retain_graph = true, .create_graph = true}, false, {})[0];
  EXPECT_EQ(Values(g), V{25 * 6});
  Tensor dv = Grad({&g, 1}, {&v, 1}, {}, {}, false, {})[0];
  EXPECT_EQ(Values(dv), V{2 * 5 * 6});
}

TEST_F(EngineHooksTest, GoesWithTheGraph) {
  auto token = std::make_shared<int>(1);
  {
    Tensor x = Leaf({1});
    Tensor y = Mul(x, x);
    AddHook(x, [token](const Tensor&) { return Tensor(); });
    AddHook(y, [token](const Tensor&) { return Tensor(); });
    EXPECT_EQ(token.use_count(), 3);
  }
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace proa::inline v0::autograd
