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

class RecomputingNodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::InstallTestOps();
    recomputed = 0;
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
