#include "autograd/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "autograd/grad_state.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "autograd/testing_passes.h"
#include "tensor/error.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using ::testing::AllOf;
using testing::ErrorOf;
using testing::Exp;
using testing::formula_runs;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::live_nodes;
using testing::Make;
using testing::Mul;
using testing::Split;
using testing::Values;
using testing::WithFormula;
using V = std::vector<double>;

using EngineTest = testing::PassTest;

TEST_F(EngineTest, ProductRule) {
  Tensor x = Leaf({2, 3}), y = Leaf({5, 7});
  Run(Mul(x, y));
  EXPECT_EQ(Values(GetGrad(x)), (V{5, 7}));
  EXPECT_EQ(Values(GetGrad(y)), (V{2, 3}));
}

TEST_F(EngineTest, OutputIsALeaf) {
  Tensor x = Leaf({2});
  Run(x);
  EXPECT_EQ(Values(GetGrad(x)), V{1});
}

TEST_F(EngineTest, GivenGradient) {
  Tensor x = Leaf({2, 3});
  Tensor out = Mul(x, x), g = Make({10, 100});
  Backward({&out, 1}, {&g, 1}, {});
  EXPECT_EQ(Values(GetGrad(x)), (V{40, 600}));
}

TEST_F(EngineTest, DiamondRunsEachNodeOnce) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, Make({2}));
  Tensor out = Add(Mul(y, y), y);
  formula_runs = 0;
  Run(out);
  // y = 2x; y^2 + y: (2y + 1) * 2
  EXPECT_EQ(Values(GetGrad(x)), V{26});
  EXPECT_EQ(formula_runs, 3);
}

TEST_F(EngineTest, WideAndDeepSharedSubgraph) {
  Tensor x = Leaf({1});
  Tensor y = x;
  // 2^60 ways from the output to x; each node still runs once.
  for (int i = 0; i < 60; ++i) y = Add(y, y);
  formula_runs = 0;
  Run(y);
  EXPECT_EQ(formula_runs, 60);
  EXPECT_EQ(Values(GetGrad(x)), V{static_cast<double>(1LL << 60)});
}

TEST_F(EngineTest, LaterNodesRunFirst) {
  std::vector<int> order;
  Tensor x = Leaf({1});
  const auto record = [&](int i) {
    return WithFormula(x, [&order, i](auto grads, auto out) {
      order.push_back(i);
      out[0] = grads[0];
    });
  };
  std::vector<Tensor> outs;
  for (int i = 0; i < 6; ++i) outs.push_back(record(i));
  // Joined in another order than they were made.
  Tensor sum = outs[3];
  for (int i : {5, 0, 4, 1, 2}) sum = Add(sum, outs[i]);
  Run(sum);
  EXPECT_EQ(order, (std::vector<int>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(Values(GetGrad(x)), V{6});
}

TEST_F(EngineTest, LaterOfTwoRunsFirstWhicheverIsReadyFirst) {
  for (bool swapped : {false, true}) {
    std::vector<int> order;
    Tensor x = Leaf({1});
    Tensor outs[2];
    for (int i = 0; i < 2; ++i) {
      outs[i] = WithFormula(x, [&order, i](auto, auto) { order.push_back(i); });
    }
    Run(Add(outs[swapped], outs[!swapped]));
    EXPECT_EQ(order, (std::vector<int>{1, 0}));
  }
}

TEST_F(EngineTest, MillionNodesAndTheirEnd) {
  Tensor x = Leaf({1});
  {
    Tensor y = x;
    const Tensor zero = Make({0});
    for (int i = 0; i < 1'000'000; ++i) y = Add(y, zero);
    Run(y);
    EXPECT_EQ(Values(GetGrad(x)), V{1});
  }
  EXPECT_EQ(live_nodes, 0);
}

TEST_F(EngineTest, AccumulatesOverPasses) {
  Tensor x = Leaf({2});
  Tensor out = Mul(x, Make({3}));
  Run(out, {.retain_graph = true});
  Run(out, {.retain_graph = true});
  Run(out);
  EXPECT_EQ(Values(GetGrad(x)), V{9});
}

TEST_F(EngineTest, SeveralOutputs) {
  Tensor x = Leaf({2});
  Tensor y = Mul(x, x);
  Tensor z = Mul(y, x);
  const Tensor outs[] = {y, z, y};
  const Tensor grads[] = {Tensor(), Make({10}), Tensor()};
  Backward(outs, grads, {});
  EXPECT_EQ(Values(GetGrad(x)), V{2 * 4 + 10 * 12});
}

TEST_F(EngineTest, OutputGivenTwice) {
  Tensor x = Leaf({1});
  Tensor z = Mul(x, Exp(x));
  const Tensor outs[] = {z, z};
  Backward(outs, {}, {});
  EXPECT_DOUBLE_EQ(Values(GetGrad(x))[0], 4 * std::exp(1.0));
}

TEST_F(EngineTest, NodeWithTwoOutputs) {
  Tensor x = Leaf({1, 2, 3, 4});
  auto [a, b] = Split(x);
  Run(Mul(a, b));
  EXPECT_EQ(Values(GetGrad(x)), (V{3, 4, 1, 2}));
  SetGrad(x, {});
  auto [c, d] = Split(x);
  Run(d);  // nothing flows into the other output
  EXPECT_EQ(Values(GetGrad(x)), (V{0, 0, 1, 1}));
}

TEST_F(EngineTest, UndefinedGradientEndsTheWay) {
  Tensor x = Leaf({1});
  bool ran = false;
  Tensor y = WithFormula(x, [&](auto grads, auto out) {
    ran = true;
    out[0] = grads[0];
  });
  Tensor z = WithFormula(y, [](auto, auto) {});  // zero
  Run(z);
  EXPECT_FALSE(ran);
  EXPECT_FALSE(GetGrad(x).defined());
  // But what else leads there goes on.
  Run(Add(z, y));
  EXPECT_EQ(Values(GetGrad(x)), V{1});
}

TEST_F(EngineTest, LeavesDoNotShareGradients) {
  Tensor a = Leaf({1}), b = Leaf({2});
  Tensor g = Make({5});
  Tensor out = Add(a, b);
  Backward({&out, 1}, {&g, 1}, {});
  EXPECT_NE(GetGrad(a).raw_data(), GetGrad(b).raw_data());
  EXPECT_NE(GetGrad(a).raw_data(), g.raw_data());
  EXPECT_NE(GetGrad(b).raw_data(), g.raw_data());
  Run(Add(a, b));
  EXPECT_EQ(Values(GetGrad(a)), V{6});
  EXPECT_EQ(Values(g), V{5});
}

TEST_F(EngineTest, AccumulationKeepsTheBufferUnlessTheUserSeesIt) {
  Tensor x = Leaf({1});
  Run(Mul(x, Make({2})));
  const void* buffer = GetGrad(x).raw_data();
  Run(Mul(x, Make({3})));
  EXPECT_EQ(GetGrad(x).raw_data(), buffer);
  const Tensor seen = GetGrad(x);
  Run(Mul(x, Make({4})));
  EXPECT_EQ(Values(GetGrad(x)), V{9});
  EXPECT_EQ(Values(seen), V{5});
}

TEST_F(EngineTest, BufferThatIsPassedOnIsTakenOver) {
  Tensor x = Leaf({1});
  const void* buffer = nullptr;
  Tensor y = WithFormula(Add(x, Make({1})), [&](auto, auto out) {
    out[0] = Make({5});
    buffer = out[0].raw_data();
  });
  Run(y);
  EXPECT_EQ(GetGrad(x).raw_data(), buffer);
}

TEST_F(EngineTest, GradOfNoGradIsOff) {
  Tensor x = Leaf({1});
  Run(Mul(x, x));
  EXPECT_FALSE(RequiresGrad(GetGrad(x)));
  EXPECT_TRUE(GradEnabled());
}

TEST_F(EngineTest, CreateGraphAccumulatesADifferentiableGradient) {
  Tensor x = Leaf({2});
  Run(Mul(Mul(x, x), x), {.retain_graph = true, .create_graph = true});
  Tensor g = GetGrad(x);
  EXPECT_EQ(Values(g), V{12});
  EXPECT_TRUE(RequiresGrad(g));
  SetGrad(x, {});
  Run(g);
  EXPECT_EQ(Values(GetGrad(x)), V{12});  // 6x
  // The second gradient is a plain one; drop the first's graph.
  EXPECT_FALSE(RequiresGrad(GetGrad(x)));
}

TEST_F(EngineTest, CreateGraphInsideNoGrad) {
  Tensor x = Leaf({3});
  Tensor out = Mul(x, x);
  {
    auto no_grad = InterpreterScope::Forbid(kDifferentiate);
    Run(out, {.retain_graph = true, .create_graph = true});
    EXPECT_FALSE(GradEnabled());
  }
  EXPECT_TRUE(RequiresGrad(GetGrad(x)));
  SetGrad(x, {});  // its graph saved x, a cycle until it goes
}

TEST_F(EngineTest, AutocastIsOffInFormulas) {
  Tensor x = Leaf({3});
  Interpreters active = 0;
  Tensor out = WithFormula(x, [&](auto grads, auto result) {
    active = ActiveInterpreters(0);
    result[0] = grads[0];
  });
  auto autocast = InterpreterScope::Force(kAutocast | kProfile);
  Run(out);
  EXPECT_EQ(active, kProfile);
  EXPECT_EQ(ActiveInterpreters(0), kAutocast | kProfile);
}

TEST_F(EngineTest, LeafMayGoBeforeBackward) {
  Tensor y;
  {
    Tensor x = Leaf({1});
    y = Add(x, Make({1}));
  }
  Run(y);  // the gradient goes nowhere
}

TEST_F(EngineTest, GraphKeepsNoLeafAlive) {
  Tensor x = Leaf({1});
  Tensor y = Add(x, Make({1}));
  EXPECT_EQ(x.impl()->use_count(), 1);
}

TEST_F(EngineTest, ReleasesWhatWasSaved) {
  Tensor x = Leaf({1}), w = Make({2});
  Tensor y = Mul(x, w);
  EXPECT_EQ(w.storage()->use_count(), 2);
  Run(y, {.retain_graph = true});
  EXPECT_EQ(w.storage()->use_count(), 2);
  Run(y);
  EXPECT_EQ(w.storage()->use_count(), 1);
}

TEST_F(EngineTest, PassThatKeepsNothingSavedCanRunAgain) {
  Tensor x = Leaf({1});
  Tensor shared = Add(x, x);
  Run(Mul(shared, Make({2})));
  Run(Mul(shared, Make({3})));
  EXPECT_EQ(Values(GetGrad(x)), V{10});
}

TEST_F(EngineTest, BadOutputs) {
  Tensor x = Leaf({1, 2}), plain = Make({1});
  EXPECT_THAT(ErrorOf([&] { Run(plain); }),
              AllOf(HasSubstr("backward: outputs[0] does not require grad"),
                    HasSubstr("[1] float64"), HasSubstr("stop_gradient")));
  EXPECT_THAT(ErrorOf([&] { Run(Tensor()); }), HasSubstr("outputs[0] is None"));
  EXPECT_THAT(ErrorOf([&] { Backward({}, {}, {}); }),
              HasSubstr("outputs is empty"));
}

TEST_F(EngineTest, BadGrads) {
  Tensor x = Leaf({1, 2});
  Tensor out = Mul(x, x);
  const Tensor two[] = {Make({1, 2}), Make({1, 2})};
  EXPECT_THAT(ErrorOf([&] {
                Backward({&out, 1}, two, {});
              }),
              HasSubstr("2 grads for 1 outputs"));
  Tensor wrong = Make({1, 2, 3});
  EXPECT_THAT(ErrorOf([&] {
                Backward({&out, 1}, {&wrong, 1}, {});
              }),
              HasSubstr("grads[0] does not fit outputs[0]; grads[0] is [3] "
                        "float64, outputs[0] is [2] float64"));
  wrong = Tensor::Empty({2}, DType::kFloat32);
  EXPECT_THAT(ErrorOf([&] {
                Backward({&out, 1}, {&wrong, 1}, {});
              }),
              HasSubstr("grads[0] is [2] float32"));
  Run(out);
  EXPECT_EQ(Values(GetGrad(x)), (V{2, 4}));
}

TEST_F(EngineTest, WrongShapeFromAFormula) {
  Tensor x = Leaf({1, 2});
  Tensor out = WithFormula(x, [](auto, auto out) { out[0] = Make({1}); });
  EXPECT_THAT(
      ErrorOf([&] { Run(out); }),
      HasSubstr("a gradient that is [1] float64 arrived at a leaf that is [2] "
                "float64"));
}

TEST_F(EngineTest, WrongNumberOfOutputs) {
  Tensor x = Leaf({1});
  Tensor y = Mul(x, x);
  SetHistory(y, GradEdge(y).node, 1);
  EXPECT_THAT(ErrorOf([&] { Run(y); }),
              HasSubstr("an edge leads to output 1 of multiply, which has 1 of "
                        "them"));
}

TEST_F(EngineTest, EngineIsUsableAfterAFormulaThrew) {
  // While `broken` throws, gradients wait in nodes with one and with two
  // outputs.
  Tensor x = Leaf({2, 3}), w = Leaf({1});
  auto [a, b] = Split(Mul(x, Make({1, 1})));
  Tensor c = Mul(w, Make({7}));
  bool fail = true;
  Tensor broken = WithFormula(Add(Add(a, b), c), [&](auto grads, auto out) {
    if (fail) throw std::runtime_error("broken");
    out[0] = grads[0];
  });
  Tensor out = Add(Add(Add(broken, a), b), c);
  EXPECT_THROW(Run(out, {.retain_graph = true}), std::runtime_error);
  EXPECT_TRUE(GradEnabled());
  fail = false;
  Run(out);
  EXPECT_EQ(Values(GetGrad(x)), (V{2, 2}));
  EXPECT_EQ(Values(GetGrad(w)), V{14});
}

TEST_F(EngineTest, PassWithinAPass) {
  Tensor w = Leaf({5});
  Tensor x = Leaf({2});
  Tensor y = WithFormula(x, [&](auto grads, auto out) {
    auto grad = InterpreterScope::Allow(kDifferentiate);
    Tensor inner = Leaf({3});
    Tensor z = Mul(Mul(inner, w), inner);
    Backward({&z, 1}, {}, {});
    out[0] = Mul(grads[0], GetGrad(inner));
  });
  Run(Add(y, Mul(y, Make({2}))));
  EXPECT_EQ(Values(GetGrad(x)), V{3 * 30});
  EXPECT_EQ(Values(GetGrad(w)), V{9});
}

TEST_F(EngineTest, PassWithinAPassOverTheSameNodes) {
  Tensor x = Leaf({2});
  Tensor shared = Mul(x, x);
  int depth = 0;
  Tensor y = WithFormula(shared, [&](auto grads, auto out) {
    if (++depth < 3) {
      Tensor again = Add(shared, Detach(shared));
      SetRequiresGrad(again, true);
      Backward({&shared, 1}, {}, {.retain_graph = true});
    }
    out[0] = grads[0];
  });
  Run(Add(y, shared), {.retain_graph = true});
  EXPECT_EQ(Values(GetGrad(x)), V{4 * 3});
}

TEST_F(EngineTest, SymbolicTensors) {
  Tensor x = testing::MakeSymbol("x", {kUnknownDim, 3});
  Tensor w = testing::MakeSymbol("w", {kUnknownDim, 3});
  SetRequiresGrad(w, true);
  Tensor out = Mul(Exp(Mul(x, w)), w);
  Run(out);
  EXPECT_EQ(testing::Text(GetGrad(w)),
            "add(mul(ones_like(mul(exp(mul(x, w)), w)), exp(mul(x, w))), "
            "mul(mul(mul(ones_like(mul(exp(mul(x, w)), w)), w), "
            "exp(mul(x, w))), x))");
}

TEST_F(EngineTest, EmptyAndZeroDimensionalTensors) {
  Tensor x = Tensor::Empty({0}, DType::kFloat64);
  SetRequiresGrad(x, true);
  Run(Add(Mul(x, x), x));
  EXPECT_EQ(GetGrad(x).shape(), Shape({0}));
  Tensor s = Tensor::Scalar(3.0);
  SetRequiresGrad(s, true);
  Run(Mul(s, s));
  EXPECT_EQ(Values(GetGrad(s)), V{6});
}

}  // namespace
}  // namespace proa::inline v0::autograd
