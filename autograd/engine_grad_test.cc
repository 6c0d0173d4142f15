// Tests of Grad: gradients of chosen tensors, of any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
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
using testing::Exp;
using testing::formula_runs;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::Make;
using testing::Mul;
using testing::Split;
using testing::Values;
using testing::WithFormula;
using V = std::vector<double>;
using Tensors = std::vector<Tensor>;

class EngineGradTest : public testing::PassTest {
 protected:
  static Tensors Of(const Tensor& out, const Tensors& inputs,
                    BackwardOptions options = {}, bool allow_unused = false,
                    const Tensors& no_grad_vars = {}) {
    return Grad({&out, 1}, inputs, {}, options, allow_unused, no_grad_vars);
  }
};

TEST_F(EngineGradTest, OfLeavesAccumulatesNowhere) {
  Tensor x = Leaf({2}), y = Leaf({5});
  Tensors g = Of(Mul(x, y), {x, y});
  EXPECT_EQ(Values(g[0]), V{5});
  EXPECT_EQ(Values(g[1]), V{2});
  EXPECT_FALSE(GetGrad(x).defined());
  EXPECT_FALSE(GetGrad(y).defined());
}

TEST_F(EngineGradTest, OfANonLeafAndOfTheOutput) {
  Tensor x = Leaf({2});
  Tensor y = Mul(x, x);
  Tensor z = Mul(y, y);
  Tensors g = Of(z, {y, x, z, y}, {.retain_graph = true});
  EXPECT_EQ(Values(g[0]), V{8});
  EXPECT_EQ(Values(g[1]), V{32});
  EXPECT_EQ(Values(g[2]), V{1});
  EXPECT_EQ(Values(g[3]), V{8});
  // Only what lies between y and z.
  formula_runs = 0;
  Of(z, {y});
  EXPECT_EQ(formula_runs, 1);
}

TEST_F(EngineGradTest, OfOneOutputOfANodeWithTwo) {
  Tensor x = Leaf({1, 2, 3, 4});
  auto [a, b] = Split(x);
  Tensor out = Add(Mul(a, a), b);
  EXPECT_EQ(Values(Of(out, {a}, {.retain_graph = true})[0]), (V{2, 4}));
  EXPECT_EQ(Values(Of(out, {b}, {.retain_graph = true})[0]), (V{1, 1}));
  Tensors g = Of(out, {b, x, a});
  EXPECT_EQ(Values(g[0]), (V{1, 1}));
  EXPECT_EQ(Values(g[1]), (V{2, 4, 1, 1}));
  EXPECT_EQ(Values(g[2]), (V{2, 4}));
}

TEST_F(EngineGradTest, RunsOnlyWhatLeadsToTheInputs) {
  Tensor x = Leaf({2}), w = Leaf({3});
  int other = 0;
  Tensor branch = WithFormula(w, [&](auto grads, auto out) {
    ++other;
    out[0] = grads[0];
  });
  Tensor out = Add(Mul(x, Make({4})), branch);
  EXPECT_EQ(Values(Of(out, {x})[0]), V{4});
  EXPECT_EQ(other, 0);
}

// A node that tells which gradients it was asked for.
class AskingNode final : public testing::CountedNode {
 public:
  explicit AskingNode(std::vector<bool>* asked) : asked_(asked) {}
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    if (auto run = std::exchange(before, nullptr)) run();
    asked_->clear();
    for (size_t i = 0; i < edges().size(); ++i) {
      asked_->push_back(needs_input_grad(static_cast<int>(i)));
      if (asked_->back()) input_grads[i] = grads[0];
    }
  }
  const char* name() const override { return "asking"; }
  std::function<void()> before;

 private:
  std::vector<bool>* asked_;
};

TEST_F(EngineGradTest, FormulaIsNotAskedForWhatNobodyNeeds) {
  std::vector<bool> asked;
  Tensor x = Leaf({1}), y = Leaf({1}), z = Leaf({1});
  Tensor out = Make({0});
  auto node = MakeNode<AskingNode>(&asked);
  for (const Tensor& t : {x, y, Make({1}), z}) node->AddEdge(GradEdge(t));
  SetHistory(out, std::move(node), 0);
  Of(out, {y}, {.retain_graph = true});
  EXPECT_EQ(asked, (std::vector<bool>{false, true, false, false}));
  Of(out, {x, y, z}, {}, /*allow_unused=*/true, {y});
  EXPECT_EQ(asked, (std::vector<bool>{true, false, false, true}));
}

TEST_F(EngineGradTest, FormulaIsAskedForAllInBackward) {
  std::vector<bool> asked;
  Tensor x = Leaf({1}), y = Leaf({1});
  Tensor out = Make({0});
  auto node = MakeNode<AskingNode>(&asked);
  for (const Tensor& t : {x, Make({1}), y}) node->AddEdge(GradEdge(t));
  SetHistory(out, std::move(node), 0);
  // Even within a pass that asks for less.
  Tensor outer = WithFormula(x, [&](auto grads, auto result) {
    Backward({&out, 1}, {}, {});
    result[0] = grads[0];
  });
  Of(outer, {x});
  EXPECT_EQ(asked, (std::vector<bool>{true, false, true}));
}

TEST_F(EngineGradTest, BackwardWithinAPrunedPassOverTheSameNode) {
  std::vector<bool> asked;
  Tensor x = Leaf({1}), y = Leaf({1});
  Tensor out = Make({0});
  auto node = MakeNode<AskingNode>(&asked);
  node->before = [&] {
    Backward({&out, 1}, {}, {.retain_graph = true});
    EXPECT_EQ(asked, (std::vector<bool>{true, true}));
  };
  for (const Tensor& t : {x, y}) node->AddEdge(GradEdge(t));
  SetHistory(out, node, 0);
  Of(out, {y});
  EXPECT_EQ(asked, (std::vector<bool>{false, true}));
}

TEST_F(EngineGradTest, Unused) {
  Tensor x = Leaf({2}), unused = Leaf({3}), plain = Make({1, 2});
  Tensor out = Mul(x, x);
  EXPECT_THAT(ErrorOf([&] {
                Of(out, {x, unused}, {.retain_graph = true});
              }),
              HasSubstr("grad: inputs[1] takes no part in the outputs; it is "
                        "[1] float64; pass allow_unused=True"));
  EXPECT_THAT(ErrorOf([&] { Of(out, {plain}, {.retain_graph = true}); }),
              HasSubstr("inputs[0] does not require grad; it is [2] float64"));
  EXPECT_THAT(ErrorOf([&] { Of(out, {Tensor()}); }),
              HasSubstr("inputs[0] is None"));
  Tensors g = Of(out, {unused, x, plain}, {}, /*allow_unused=*/true);
  EXPECT_FALSE(g[0].defined());
  EXPECT_EQ(Values(g[1]), V{4});
  EXPECT_FALSE(g[2].defined());
}

TEST_F(EngineGradTest, NoGradVars) {
  Tensor x = Leaf({2});
  Tensor y = Mul(x, Make({3}));
  Tensor z = Add(Mul(y, Make({5})), x);
  const BackwardOptions keep = {.retain_graph = true};
  EXPECT_EQ(Values(Of(z, {x}, keep)[0]), V{16});
  EXPECT_EQ(Values(Of(z, {x}, keep, false, {y})[0]), V{1});
  EXPECT_FALSE(Of(z, {x}, keep, true, {z})[0].defined());
  EXPECT_FALSE(Of(z, {x}, keep, true, {x})[0].defined());
}

TEST_F(EngineGradTest, NoGradVarThatIsOneOfTwoOutputs) {
  Tensor x = Leaf({1, 2});
  auto [a, b] = Split(x);
  Tensor out = Add(a, b);
  EXPECT_EQ(Values(Of(out, {x}, {}, false, {b})[0]), (V{1, 0}));
}

TEST_F(EngineGradTest, ReleasesLikeBackward) {
  Tensor x = Leaf({2});
  Tensor out = Mul(x, x);
  Of(out, {x});
  EXPECT_THAT(ErrorOf([&] { Of(out, {x}); }), HasSubstr("retain_graph=True"));
}

TEST_F(EngineGradTest, SecondAndThirdOrder) {
  Tensor x = Leaf({2});
  const BackwardOptions higher = {.retain_graph = true, .create_graph = true};
  Tensor y = Mul(Mul(x, x), Mul(x, x));  // x^4
  Tensor d1 = Of(y, {x}, higher)[0];
  EXPECT_EQ(Values(d1), V{32});
  Tensor d2 = Of(d1, {x}, higher)[0];
  EXPECT_EQ(Values(d2), V{48});
  Tensor d3 = Of(d2, {x}, higher)[0];
  EXPECT_EQ(Values(d3), V{48});
  Tensor d4 = Of(d3, {x})[0];
  EXPECT_EQ(Values(d4), V{24});
  EXPECT_FALSE(RequiresGrad(d4));
  EXPECT_FALSE(GetGrad(x).defined());
}

TEST_F(EngineGradTest, AnyOrderThroughASavedOutput) {
  Tensor x = Leaf({0.5});
  Tensor d = Exp(x);
  for (int order = 1; order <= 6; ++order) {
    d = Of(d, {x}, {.retain_graph = true, .create_graph = true})[0];
    EXPECT_DOUBLE_EQ(Values(d)[0], std::exp(0.5)) << order;
  }
}

TEST_F(EngineGradTest, MixedSecondOrder) {
  Tensor x = Leaf({2}), y = Leaf({3});
  Tensor z = Mul(Mul(x, x), Exp(y));  // x^2 e^y
  Tensor dx = Of(z, {x}, {.retain_graph = true, .create_graph = true})[0];
  Tensors dxd = Of(dx, {x, y});
  EXPECT_DOUBLE_EQ(Values(dxd[0])[0], 2 * std::exp(3.0));
  EXPECT_DOUBLE_EQ(Values(dxd[1])[0], 4 * std::exp(3.0));
}

TEST_F(EngineGradTest, GradientPenalty) {
  // loss = (d(x w)/dx)^2 = w^2, accumulated into the leaf w.
  Tensor x = Leaf({2}), w = Leaf({3});
  Tensor g =
      Of(Mul(x, w), {x}, {.retain_graph = true, .create_graph = true})[0];
  Tensor loss = Mul(g, g);
  Backward({&loss, 1}, {}, {});
  EXPECT_EQ(Values(GetGrad(w)), V{6});
  EXPECT_FALSE(GetGrad(x).defined());
}

TEST_F(EngineGradTest, GivenGradientThatRequiresGrad) {
  Tensor x = Leaf({2}), v = Leaf({10});
  Tensor y = Mul(x, x);
  Tensor g = Grad({&y, 1}, {&x, 1}, {&v, 1},
                  {.retain_graph = true, .create_graph = true}, false, {})[0];
  EXPECT_EQ(Values(g), V{40});
  EXPECT_EQ(Values(Of(g, {v})[0]), V{4});  // forward mode by double reverse
}

TEST_F(EngineGradTest, SymbolicSecondOrder) {
  Tensor x = testing::MakeSymbol("x", {2});
  SetRequiresGrad(x, true);
  Tensor y = Mul(x, x);
  Tensor d1 = Of(y, {x}, {.retain_graph = true, .create_graph = true})[0];
  EXPECT_EQ(testing::Text(d1),
            "add(mul(ones_like(mul(x, x)), x), mul(ones_like(mul(x, x)), x))");
  EXPECT_TRUE(RequiresGrad(d1));
  EXPECT_TRUE(Of(d1, {x})[0].is_symbolic());
}

TEST_F(EngineGradTest, LongChain) {
  Tensor x = Leaf({1});
  Tensor y = x;
  const Tensor zero = Make({0});
  for (int i = 0; i < 300'000; ++i) y = Add(y, zero);
  EXPECT_EQ(Values(Of(y, {x})[0]), V{1});
}

}  // namespace
}  // namespace proa::inline v0::autograd
