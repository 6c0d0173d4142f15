#include "autograd/anomaly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using ::testing::AllOf;
using testing::ErrorOf;
using testing::Exp;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::live_nodes;
using testing::Make;
using testing::Mul;
using ::testing::Not;
using testing::Values;
using testing::WithFormula;
using V = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string line;   // where the "program" is
std::string noted;  // what was annotated

class AnomalyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::InstallTestOps();
    InstallAnomalyHandlers(
        {.trace =
             [] { return ForwardTrace([at = line] { return "at " + at; }); },
         .annotate = [](const std::string& n) { noted = n; }});
    SetAnomalyMode(AnomalyMode::kTraceAndCheck);
    line = "line 1";
    noted = "";
  }
  void TearDown() override {
    SetAnomalyMode(AnomalyMode::kOff);
    InstallAnomalyHandlers({});
    EXPECT_EQ(live_nodes, 0);
  }
  static void Run(const Tensor& out, BackwardOptions options = {}) {
    Backward({&out, 1}, {}, options);
  }
};

TEST_F(AnomalyTest, NaNNamesOpInputShapeAndForwardLine) {
  Tensor x = Leaf({0, 1});
  line = "line 7";
  Tensor y = Mul(x, Make({kInf, 1}));
  line = "line 8";
  Tensor g = Make({0, 1});
  EXPECT_THAT(
      ErrorOf([&] {
        Backward({&y, 1}, {&g, 1}, {});
      }),
      AllOf(
          HasSubstr(
              "multiply's backward made a gradient of x with 1 NaN and 0 Inf"),
          HasSubstr("it is [2] float64"),
          HasSubstr("the gradient that came in was finite"),
          HasSubstr("multiply was called\nat line 7"),
          Not(HasSubstr("line 8"))));
}

TEST_F(AnomalyTest, InfThatCameInIsSaid) {
  Tensor x = Leaf({1});
  Tensor y = Mul(x, Make({1}));
  Tensor g = Make({kInf});
  EXPECT_THAT(ErrorOf([&] {
                Backward({&y, 1}, {&g, 1}, {});
              }),
              AllOf(HasSubstr("0 NaN and 1 Inf"),
                    HasSubstr("came in already had 0 NaN and 1 Inf")));
}

TEST_F(AnomalyTest, WithoutCheckNaNPasses) {
  SetAnomalyMode(AnomalyMode::kTrace);
  Tensor x = Leaf({1});
  Run(Mul(x, Make({kInf})));
  EXPECT_EQ(Values(GetGrad(x)), V{kInf});
}

TEST_F(AnomalyTest, ErrorOfAFormulaNamesTheForwardLine) {
  Tensor x = Leaf({1});
  line = "line 3";
  Tensor y = WithFormula(x, [](auto, auto) { FailArgument("does not work"); });
  line = "line 4";
  EXPECT_THAT(ErrorOf([&] { Run(Add(y, y)); }),
              AllOf(HasSubstr("does not work\nin lambda's backward"),
                    HasSubstr("[1] float64"), HasSubstr("at line 3")));
  try {
    Run(y);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kInvalidArgument);
  }
  Tensor z = WithFormula(x, [](auto, auto) { ThrowTypeError("wrong kind"); });
  EXPECT_THROW(Run(z), TypeError);
}

TEST_F(AnomalyTest, ForeignExceptionIsAnnotatedAndGoesOn) {
  Tensor x = Leaf({1});
  Tensor y =
      WithFormula(x, [](auto, auto) { throw std::out_of_range("mine"); });
  EXPECT_THROW(Run(y), std::out_of_range);
  EXPECT_THAT(noted, AllOf(HasSubstr("lambda"), HasSubstr("at line 1")));
}

TEST_F(AnomalyTest, NodesOfAFormulaNameTheOpOfTheUser) {
  Tensor x = Leaf({0});
  line = "line 5";
  Tensor y = Mul(x, Exp(x));
  line = "line 6";
  Tensor g = Grad({&y, 1}, {&x, 1}, {}, {.create_graph = true}, false, {})[0];
  std::string place;
  for (const Edge& edge : GradEdge(g).node->edges()) {
    if (edge.node) place = edge.node->ForwardPlace();
  }
  EXPECT_THAT(place, AllOf(HasSubstr("in the backward of"),
                           HasSubstr("which was called\nat line 5")));
}

TEST_F(AnomalyTest, ForwardOutsideOfTheMode) {
  SetAnomalyMode(AnomalyMode::kOff);
  Tensor x = Leaf({1});
  Tensor y = Mul(x, Make({kInf}));
  EXPECT_EQ(GradEdge(y).node->ForwardPlace(), "");
  SetAnomalyMode(AnomalyMode::kTraceAndCheck);
  EXPECT_THAT(ErrorOf([&] { Run(y); }), HasSubstr("anomaly mode was off"));
}

TEST_F(AnomalyTest, WithoutHandlers) {
  InstallAnomalyHandlers({});
  Tensor x = Leaf({1});
  EXPECT_THAT(ErrorOf([&] { Run(Mul(x, Make({kInf}))); }),
              HasSubstr("is not known"));
  Tensor y =
      WithFormula(x, [](auto, auto) { throw std::out_of_range("mine"); });
  EXPECT_THROW(Run(y), std::out_of_range);
}

TEST_F(AnomalyTest, SymbolsHaveNoElementsToCheck) {
  Tensor x = testing::MakeSymbol("x", {2});
  SetRequiresGrad(x, true);
  Run(Mul(x, testing::MakeSymbol("c", {2})));
  EXPECT_EQ(testing::Text(GetGrad(x)), "mul(ones_like(mul(x, c)), c)");
}

}  // namespace
}  // namespace proa::inline v0::autograd
