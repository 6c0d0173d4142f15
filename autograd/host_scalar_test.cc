#include "autograd/host_scalar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "autograd/engine.h"
#include "autograd/grad_ops.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "autograd/testing_errors.h"

namespace proa::inline v0::autograd {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

// The host's number: what was done to it.
using Text = std::string;

Tensor Plus(const Tensor& a, const Tensor& b) {
  return HostScalar(
      Text("(" + HostValue<Text>(a) + "+" + HostValue<Text>(b) + ")"));
}

class TwiceNode final : public Node {
 public:
  void Backward(std::span<const Tensor> g, std::span<Tensor> out) override {
    for (Tensor& t : out) t = HostScalar(Text("g" + HostValue<Text>(g[0])));
  }
  const char* name() const override { return "twice"; }
};

class HostScalarTest : public ::testing::Test {
 protected:
  void SetUp() override {
    InstallGradOps(
        {.add = Plus,
         .ones_like = [](const Tensor&) { return HostScalar(Text("1")); },
         .zeros_like = [](const Tensor&) { return HostScalar(Text("0")); },
         .copy = [](const Tensor& t) { return t; }});
  }
};

TEST_F(HostScalarTest, GradientsAreAddedByTheHost) {
  Tensor x = HostScalar(Text("x"));
  SetRequiresGrad(x, true);
  for (int pass = 0; pass < 2; ++pass) {
    Tensor out = HostScalar(Text("out"));
    auto node = MakeNode<TwiceNode>();
    node->AddEdge(GradEdge(x));
    node->AddEdge(GradEdge(x));
    SetHistory(out, std::move(node), 0);
    Backward({&out, 1}, {}, {});
  }
  EXPECT_EQ(HostValue<Text>(GetGrad(x)), "((g1+g1)+(g1+g1))");
  EXPECT_EQ(HostValue<Text>(x), "x");
  EXPECT_EQ(HostValue<Text>(Detach(x)), "x");
}

TEST_F(HostScalarTest, WrongType) {
  EXPECT_THAT(ErrorOf([] { HostValue<double>(HostScalar(Text("x"))); }),
              HasSubstr("holds no value of this type"));
  EXPECT_THAT(ErrorOf([] { HostValue<Text>(Tensor::Scalar(1.0)); }),
              HasSubstr("[] float64"));
  EXPECT_THAT(ErrorOf([] { HostValue<Text>(Tensor()); }), HasSubstr("None"));
}

}  // namespace
}  // namespace proa::inline v0::autograd
