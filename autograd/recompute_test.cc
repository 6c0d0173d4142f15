#include "autograd/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using testing::ErrorOf;
using testing::Exp;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::live_nodes;
using testing::Make;
using testing::Mul;
using testing::MulInplace;
using testing::Values;
using Doubles = std::vector<double>;
using In = std::span<const Tensor>;
using Out = std::vector<Tensor>;

class RecomputeTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::InstallTestOps(); }
  void TearDown() override { EXPECT_EQ(live_nodes, 0); }
  static void Run(const Tensor& y, bool retain_graph = false) {
    Backward({&y, 1}, {}, {.retain_graph = retain_graph});
  }
  static Tensor GradOf(const Tensor& y, const Tensor& x, bool create = false) {
    return Grad({&y, 1}, {&x, 1}, {},
                {.retain_graph = create, .create_graph = create}, true, {})[0];
  }
};

TEST_F(RecomputeTest, KeepsNothingAndRunsAgain) {
  Tensor x = Leaf({2}), w = Leaf({3});
  int runs = 0;
  Tensor y = Recompute(
      [&](In in) {
        ++runs;
        return Out{Mul(Mul(in[0], w), in[0])};
      },
      {&x, 1})[0];
  EXPECT_EQ(live_nodes, 0);  // the two products
  EXPECT_EQ(Values(y), Doubles{12});
  Run(y);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(Values(GetGrad(x)), Doubles{12});
  EXPECT_EQ(Values(GetGrad(w)), Doubles{4});
}

TEST_F(RecomputeTest, GradOfAParameter) {
  Tensor x = Make({2}), w = Leaf({3});
  Tensor y = Recompute([&](In in) { return Out{Mul(in[0], w)}; }, {&x, 1})[0];
  EXPECT_EQ(Values(GradOf(y, w)), Doubles{2});
  EXPECT_FALSE(GetGrad(w).defined());
}

TEST_F(RecomputeTest, NonLeavesAroundIt) {
  Tensor x = Leaf({2}), w = Leaf({3});
  Tensor a = Mul(x, x), b = Exp(Mul(w, Make({0})));
  Tensor y =
      Recompute([&](In in) { return Out{Mul(in[0], Mul(b, w))}; }, {&a, 1})[0];
  Run(Mul(y, Make({10})));
  EXPECT_EQ(Values(GetGrad(x)), Doubles{120});
  EXPECT_EQ(Values(GetGrad(w)), Doubles{40});
}

TEST_F(RecomputeTest, HooksRunOnce) {
  Tensor x = Leaf({2}), w = Leaf({3});
  int calls = 0;
  AddHook(w, [&](const Tensor& g) {
    ++calls;
    return Add(g, g);
  });
  Tensor y = Recompute([&](In in) { return Out{Mul(in[0], w)}; }, {&x, 1})[0];
  Run(y);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Values(GetGrad(w)), Doubles{4});
}

TEST_F(RecomputeTest, HigherOrder) {
  Tensor x = Leaf({2}), w = Leaf({3});
  Tensor y =
      Recompute([&](In in) { return Out{Mul(Mul(in[0], in[0]), Mul(w, w))}; },
                {&x, 1})[0];
  Tensor g = GradOf(y, x, true);  // 2 x w^2
  EXPECT_EQ(Values(g), Doubles{36});
  EXPECT_EQ(Values(GradOf(g, w, true)), Doubles{24});  // 4 x w
  Tensor gg = GradOf(g, x, true);
  EXPECT_EQ(Values(gg), Doubles{18});
  EXPECT_EQ(Values(GradOf(gg, w)), Doubles{12});
}

TEST_F(RecomputeTest, Nested) {
  Tensor x = Leaf({2}), w = Leaf({3});
  int inner = 0;
  Tensor y = Recompute(
      [&](In in) {
        Tensor a = Mul(in[0], w);
        return Recompute(
            [&](In again) {
              ++inner;
              return Out{Mul(again[0], w)};
            },
            {&a, 1});
      },
      {&x, 1})[0];
  Run(y, true);
  Run(y);
  EXPECT_EQ(Values(GetGrad(x)), Doubles{18});
  EXPECT_EQ(Values(GetGrad(w)), Doubles{24});
  EXPECT_EQ(inner, 5);
  EXPECT_THAT(ErrorOf([&] { Run(y); }), HasSubstr("a second time"));
}

TEST_F(RecomputeTest, AutocastIsAsItWas) {
  Tensor x = Leaf({2});
  std::vector<Interpreters> seen;
  std::vector<uint32_t> settings;
  const auto square = [&](In in) {
    seen.push_back(thread_interpreters.forced & kAutocast);
    settings.push_back(thread_interpreters.autocast);
    return Out{Mul(in[0], in[0])};
  };
  Tensor with, without;
  {
    const InterpreterScope autocast = InterpreterScope::Force(kAutocast);
    thread_interpreters.autocast = 7;
    with = Recompute(square, {&x, 1})[0];
  }
  without = Recompute(square, {&x, 1})[0];
  Run(with);
  {
    const InterpreterScope autocast = InterpreterScope::Force(kAutocast);
    Run(without);
    EXPECT_EQ(thread_interpreters.forced & kAutocast, kAutocast);
  }
  EXPECT_EQ(seen, (std::vector<Interpreters>{kAutocast, 0, kAutocast, 0}));
  EXPECT_EQ(settings, (std::vector<uint32_t>{7, 0, 7, 0}));
}

TEST_F(RecomputeTest, InputsThatOnlyTheClosureHas) {
  Tensor x = Leaf({2});
  Tensor a = Mul(x, x);
  Run(Recompute([&](In) { return Out{Mul(a, a)}; }, {})[0]);
  EXPECT_EQ(Values(GetGrad(x)), Doubles{32});
}

TEST_F(RecomputeTest, SeveralResults) {
  Tensor x = Leaf({2, 3});
  Out y = Recompute(
      [&](In in) {
        EXPECT_FALSE(in[1].defined());
        auto [a, b] = testing::Split(in[0]);
        return Out{a, b, in[0], Make({1})};
      },
      std::vector{x, Tensor()});
  EXPECT_FALSE(RequiresGrad(y[3]));
  Run(Mul(y[1], y[1]), true);
  EXPECT_EQ(Values(GetGrad(x)), (Doubles{0, 6}));
  Run(y[2]);
  EXPECT_EQ(Values(GetGrad(x)), (Doubles{1, 7}));
}

TEST_F(RecomputeTest, NothingToRecord) {
  Tensor x = Make({2});
  Tensor y =
      Recompute([&](In in) { return Out{Mul(in[0], in[0])}; }, {&x, 1})[0];
  EXPECT_FALSE(RequiresGrad(y));
  const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
  Tensor l = Leaf({2});
  EXPECT_FALSE(RequiresGrad(
      Recompute([&](In in) { return Out{Mul(in[0], in[0])}; }, {&l, 1})[0]));
}

TEST_F(RecomputeTest, Errors) {
  Tensor x = Mul(Leaf({2}), Make({1}));
  EXPECT_THAT(ErrorOf([&] {
                Recompute(
                    [&](In in) {
                      MulInplace(in[0], Make({2}));
                      return Out{in[0]};
                    },
                    {&x, 1});
              }),
              HasSubstr("saved for recompute's backward was changed"));
  Tensor y =
      Recompute([&](In in) { return Out{Mul(in[0], in[0])}; }, {&x, 1})[0];
  MulInplace(x, Make({2}));
  EXPECT_THAT(ErrorOf([&] { Run(y); }), HasSubstr("multiply_"));
  int runs = 0;
  Tensor l = Leaf({2});
  Tensor z = Recompute(
      [&](In in) { return ++runs == 1 ? Out{Mul(in[0], in[0])} : Out{}; },
      {&l, 1})[0];
  EXPECT_THAT(ErrorOf([&] { Run(z); }), HasSubstr("gave 1 tensors, and 0"));
}

}  // namespace
}  // namespace proa::inline v0::autograd
