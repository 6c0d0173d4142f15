// Tests of how one formula runs in anomaly mode; anomaly_test.cc has passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "autograd/anomaly.h"
#include "autograd/engine.h"
#include "autograd/grad_ops.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "autograd/testing_passes.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::autograd {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::Make;
using testing::Mul;
using ::testing::Not;
using testing::WithFormula;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

class AnomalyCheckTest : public testing::PassTest {
 protected:
  void SetUp() override {
    PassTest::SetUp();
    SetAnomalyMode(AnomalyMode::kTraceAndCheck);
  }
  void TearDown() override {
    SetAnomalyMode(AnomalyMode::kOff);
    InstallAnomalyHandlers({});
    PassTest::TearDown();
  }
  // The error of a node that makes `made` of `came`.
  static std::string Check(Tensor came, Tensor made) {
    Tensor x = Leaf({1});
    Tensor y = WithFormula(x, [&](auto, auto out) { out[0] = made; });
    return ErrorOf([&] { Backward({&y, 1}, {&came, 1}, {}); });
  }
};

TEST_F(AnomalyCheckTest, CountsEachKind) {
  EXPECT_THAT(Check(Make({1}), Make({kNaN})),
              AllOf(HasSubstr("lambda's backward made a gradient of input 0 "
                              "with 1 NaN and 0 Inf; it is [1] float64"),
                    HasSubstr("the gradient that came in was finite\n")));
  EXPECT_THAT(Check(Make({-kInf}), Make({kInf})),
              AllOf(HasSubstr("with 0 NaN and 1 Inf"),
                    HasSubstr("already had 0 NaN and 1 Inf")));
}

TEST_F(AnomalyCheckTest, WhatIsFiniteOrNothingPasses) {
  EXPECT_EQ(Check(Make({1}), Make({1e308})), "no error");
  EXPECT_EQ(Check(Make({1}), Tensor()), "no error");
  EXPECT_EQ(Check(Make({kNaN}), Make({0})), "no error");  // it went no further
  Tensor x = Leaf({});
  Tensor y = WithFormula(x, [](auto g, auto out) { out[0] = g[0]; });
  Run(y);  // empty
}

TEST_F(AnomalyCheckTest, NamesTheInputThatIsNotFinite) {
  Tensor x = Leaf({1}), y = Leaf({kInf});
  EXPECT_THAT(ErrorOf([&] { Run(Mul(y, x)); }),
              AllOf(HasSubstr("made a gradient of y with 0 NaN and 1 Inf"),
                    Not(HasSubstr("gradient of x"))));
}

TEST_F(AnomalyCheckTest, WithoutAWayToCountNothingIsChecked) {
  GradOps without = InstalledGradOps();
  without.count_non_finite = nullptr;
  const GradOps with = InstalledGradOps();
  InstallGradOps(without);
  EXPECT_EQ(Check(Make({1}), Make({kNaN})), "no error");
  InstallGradOps(with);
}

TEST_F(AnomalyCheckTest, AFailedFormulaLeavesNothingBehind) {
  // Nodes made after a formula threw are not taken for that formula's.
  InstallAnomalyHandlers(
      {.trace = [] { return ForwardTrace([] { return std::string("here"); }); },
       .annotate = [](const std::string&) {}});
  Tensor x = Leaf({1});
  Tensor bad = WithFormula(x, [](auto, auto) { FailArgument("wrong"); });
  EXPECT_THAT(ErrorOf([&] { Run(bad); }),
              AllOf(HasSubstr("wrong\nin lambda's backward, with gradients [1] "
                              "float64; lambda was called\nhere")));
  EXPECT_EQ(internal::traced_node, nullptr);
  Tensor foreign =
      WithFormula(x, [](auto, auto) { throw std::out_of_range("mine"); });
  EXPECT_THROW(Run(foreign), std::out_of_range);
  EXPECT_EQ(internal::traced_node, nullptr);
  Tensor after = Mul(x, x);
  EXPECT_EQ(GradEdge(after).node->ForwardPlace(), "here");
}

TEST_F(AnomalyCheckTest, AFormulaWithinAFormula) {
  // A pass within a formula: afterwards the outer formula runs again.
  Tensor x = Leaf({2});
  const Node* outer = nullptr;
  const Node* after_inner = nullptr;
  Tensor y = WithFormula(x, [&](auto g, auto out) {
    outer = internal::traced_node;
    Tensor z = Leaf({3});
    const InterpreterScope on = InterpreterScope::Allow(kDifferentiate);
    Run(Mul(z, z));
    after_inner = internal::traced_node;
    out[0] = g[0];
  });
  Run(y);
  EXPECT_EQ(outer, GradEdge(y).node.get());
  EXPECT_EQ(after_inner, outer);
}

}  // namespace
}  // namespace proa::inline v0::autograd
