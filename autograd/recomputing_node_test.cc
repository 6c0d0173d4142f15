#include "autograd/recomputing_node.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/saved_tensor.h"
#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Leaf;
using testing::Make;
using testing::Mul;
using testing::Values;

int recomputed = 0;

// y = x + x, which nobody keeps.
class TwiceNode final : public RecomputingNode {
 public:
  using RecomputingNode::AllowRecompute;
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    if (needs_input_grad(0)) input_grads[0] = testing::Add(grads[0], grads[0]);
    ForgetRecomputed();
  }
  const char* name() const override { return "twice"; }
  void ReleaseSaved() override {
    x.Release();
    ForgetRecomputed();
  }
  SavedTensor x;

 private:
  Tensor Recompute() override {
    ++recomputed;
    const Tensor value = x.Get(*this);
    return testing::Add(value, value);
  }
};

Tensor Twice(const Tensor& x) {
  IntrusivePtr<TwiceNode> node = MakeNode<TwiceNode>();
  node->AddEdge(GradEdge(x));
  Tensor out;
  {
    const auto plain = InterpreterScope::Forbid(kDifferentiate);
    out = testing::Add(x, x);
  }
  node->AllowRecompute(out);
  node->x = SavedTensor(x, *node, 0);
  SetHistory(out, std::move(node), 0);
  return out;
}

int summed_again = 0;

// x + y behind nodes that recompute.
class SumNode final : public RecomputingNode {
 public:
  using RecomputingNode::AllowRecomputeBehind;
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    for (int i = 0; i < 2; ++i) {
      if (needs_input_grad(i)) input_grads[i] = grads[0];
    }
    ForgetRecomputed();
  }
  const char* name() const override { return "sum"; }
  void ReleaseSaved() override { ForgetRecomputed(); }

 private:
  Tensor Recompute() override {
    ++summed_again;
    return testing::Add(RecomputedInput(0), RecomputedInput(1));
  }
};

Tensor Sum(const Tensor& x, const Tensor& y) {
  IntrusivePtr<SumNode> node = MakeNode<SumNode>();
  node->AddEdge(GradEdge(x));
  node->AddEdge(GradEdge(y));
  Tensor out;
  {
    const auto plain = InterpreterScope::Forbid(kDifferentiate);
    out = testing::Add(x, y);
  }
  node->AllowRecomputeBehind(out, x, y);
  SetHistory(out, std::move(node), 0);
  return out;
}

class RecomputingNodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::InstallTestOps();
    recomputed = summed_again = 0;
  }
  void TearDown() override {
    SetRecomputeOutputs(true);
    EXPECT_EQ(testing::live_nodes, 0);
  }

  static void Run(const Tensor& out, bool retain_graph = false) {
    Backward({&out, 1}, {}, {.retain_graph = retain_graph});
  }
};

TEST_F(RecomputingNodeTest, WhoSavesTheOutputKeepsNothing) {
  const Tensor x = Leaf({1, 2});
  Tensor y = Twice(x);
  const Storage* const elements = y.storage().get();
  const Tensor out = Mul(y, y);
  EXPECT_EQ(elements->use_count(), 1);  // y's own
  y = Tensor();
  Run(out);
  EXPECT_EQ(Values(GetGrad(x)), (std::vector<double>{8, 16}));
  EXPECT_EQ(recomputed, 1);  // for both factors
}

TEST_F(RecomputingNodeTest, SwitchedOffItIsKept) {
  SetRecomputeOutputs(false);
  const Tensor x = Leaf({1, 2});
  const Tensor y = Twice(x);
  EXPECT_FALSE(GradEdge(y).node->recomputes());
  Run(Mul(y, y));
  EXPECT_EQ(Values(GetGrad(x)), (std::vector<double>{8, 16}));
  EXPECT_EQ(recomputed, 0);
}

TEST_F(RecomputingNodeTest, AChangeBeforeItIsSavedCounts) {
  const Tensor x = Leaf({1, 2}), w = Leaf({1, 1});
  const Tensor y = Twice(x);
  {
    const auto plain = InterpreterScope::Forbid(kDifferentiate);
    testing::MulInplace(y, Make({5, 5}));
  }
  Run(Mul(y, w));
  EXPECT_EQ(Values(GetGrad(w)), (std::vector<double>{10, 20}));
  EXPECT_EQ(recomputed, 0);
}

TEST_F(RecomputingNodeTest, AChangeAfterItIsSavedDoesNoHarm) {
  const Tensor x = Leaf({1, 2}), w = Leaf({1, 1});
  const Tensor y = Twice(x);
  const Tensor out = Mul(y, w);
  {
    const auto plain = InterpreterScope::Forbid(kDifferentiate);
    testing::MulInplace(y, Make({5, 5}));
  }
  Run(out);
  EXPECT_EQ(Values(GetGrad(w)), (std::vector<double>{2, 4}));
}

TEST_F(RecomputingNodeTest, AChangeOfTheInputIsAnError) {
  const Tensor x = Mul(Leaf({1, 2}), Make({1, 1})), w = Leaf({1, 1});
  const Tensor out = Mul(Twice(x), w);
  {
    const auto plain = InterpreterScope::Forbid(kDifferentiate);
    testing::MulInplace(x, Make({5, 5}));
  }
  const std::string message = testing::ErrorOf([&] { Run(out); });
  EXPECT_NE(message.find("twice"), std::string::npos) << message;
  EXPECT_NE(message.find("changed in place"), std::string::npos) << message;
}

TEST_F(RecomputingNodeTest, RetainedGraphsRunAgain) {
  const Tensor x = Leaf({1, 2});
  const Tensor out = Mul(Twice(x), Twice(x));
  Run(out, /*retain_graph=*/true);
  Run(out);
  EXPECT_EQ(Values(GetGrad(x)), (std::vector<double>{16, 32}));
  EXPECT_EQ(recomputed, 4);
}

TEST_F(RecomputingNodeTest, ChainsAreBroken) {
  const Tensor x = Leaf({1, 2});
  Tensor y = x;
  int kept = 0;
  for (int i = 0; i < 40; ++i) {
    y = Twice(y);
    kept += !GradEdge(y).node->recomputes();
  }
  EXPECT_GT(kept, 2);
  EXPECT_LT(kept, 10);
  const Tensor w = Leaf({1, 1});
  Run(Mul(y, w));
  EXPECT_EQ(Values(GetGrad(w))[1], 2 * 0x1p40);
  EXPECT_LE(recomputed, 8);
}

TEST_F(RecomputingNodeTest, BehindRecomputedOutputsNothingIsKept) {
  const Tensor x = Leaf({1, 2}), y = Leaf({10, 20}), w = Leaf({3, 4});
  const Storage* summed = nullptr;
  Tensor out;
  {
    const Tensor sum = Sum(Twice(x), Twice(y));
    EXPECT_TRUE(GradEdge(sum).node->recomputes());
    summed = sum.storage().get();
    EXPECT_EQ(summed->use_count(), 1);
    out = Mul(sum, w);
    EXPECT_EQ(summed->use_count(), 1);
  }
  Run(out);
  EXPECT_EQ(Values(GetGrad(w)), (std::vector<double>{22, 44}));
  EXPECT_EQ(Values(GetGrad(x)), (std::vector<double>{6, 8}));
  EXPECT_EQ(summed_again, 1);
  EXPECT_EQ(recomputed, 2);
}

TEST_F(RecomputingNodeTest, BehindOthersItIsKept) {
  const Tensor x = Leaf({1, 2});
  const auto recomputes = [](const Tensor& t) {
    return GradEdge(t).node->recomputes();
  };
  EXPECT_FALSE(recomputes(Sum(x, x)));
  EXPECT_FALSE(recomputes(Sum(Twice(x), x)));
  EXPECT_FALSE(recomputes(Sum(x, Twice(x))));
  EXPECT_FALSE(recomputes(Sum(Twice(x), Make({1, 1}))));
  EXPECT_TRUE(recomputes(Sum(Twice(x), Sum(Twice(x), Twice(x)))));
  const Tensor changed = Twice(x);
  {
    const auto plain = InterpreterScope::Forbid(kDifferentiate);
    testing::MulInplace(changed, Make({5, 5}));
  }
  EXPECT_FALSE(recomputes(Sum(changed, Twice(x))));
  SetRecomputeOutputs(false);
  EXPECT_FALSE(recomputes(Sum(Twice(x), Twice(x))));
}

TEST_F(RecomputingNodeTest, WhatOthersRelyOnIsComputedOnce) {
  const Tensor x = Leaf({1, 2}), w = Leaf({1, 1}), v = Leaf({1, 1});
  const Tensor a = Twice(x);
  const Tensor out = Mul(Mul(Sum(a, a), w), Mul(a, v));
  Run(out);
  EXPECT_EQ(recomputed, 1);
  EXPECT_EQ(Values(GetGrad(v)), (std::vector<double>{8, 32}));
}

TEST_F(RecomputingNodeTest, ThreadsMayAskTogether) {
  const Tensor x = Leaf({1, 2});
  const Tensor y = Twice(x);
  std::vector<Tensor> outs;
  for (int i = 0; i < 4; ++i) outs.push_back(Mul(y, Make({1. + i, 1})));
  std::vector<std::thread> threads;
  for (const Tensor& out : outs)
    threads.emplace_back([&out] { Run(out, /*retain_graph=*/true); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(Values(GetGrad(x)), (std::vector<double>{20, 8}));
}

}  // namespace
}  // namespace proa::inline v0::autograd
