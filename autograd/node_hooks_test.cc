// Tests of hooks on nodes, and on leaves after accumulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
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

class NodeHooksTest : public testing::PassTest {
 protected:
  std::string log;
  NodePreHook Pre(const char* what) {
    return [this, what](std::span<Tensor>) { log += what; };
  }
  NodePostHook Post(const char* what) {
    return [this, what](std::span<Tensor>, std::span<const Tensor>) {
      log += what;
    };
  }
};

TEST_F(NodeHooksTest, RunInOrderAroundTheFormula) {
  Tensor x = Leaf({3});
  Tensor y = testing::WithFormula(x, [this](auto g, auto out) {
    log += "formula ";
    out[0] = g[0];
  });
  const IntrusivePtr<Node> node = GradEdge(y).node;
  node->AddPostHook(Post("post1 "));
  node->AddPreHook(Pre("pre1 "));
  const int64_t gone = node->AddPreHook(Pre("gone "));
  node->AddPreHook(Pre("pre2 "));
  node->AddPostHook(Post("post2 "));
  AddHook(y, [this](const Tensor&) {
    log += "tensor ";
    return Tensor();
  });
  EXPECT_TRUE(node->RemoveHook(gone));
  EXPECT_FALSE(node->RemoveHook(gone));
  Run(y, {.retain_graph = true});
  EXPECT_EQ(log, "tensor pre1 pre2 formula post1 post2 ");
  Run(y);
  EXPECT_EQ(log.size(),
            2 * std::string("tensor pre1 pre2 formula post1 post2 ").size());
}

TEST_F(NodeHooksTest, SeeAndReplaceGradients) {
  Tensor x = Leaf({1, 2, 3, 4});
  auto [a, b] = Split(x);
  const IntrusivePtr<Node> node = GradEdge(a).node;
  std::vector<V> seen;
  node->AddPreHook([&](std::span<Tensor> grads) {
    ASSERT_EQ(grads.size(), 2u);
    EXPECT_FALSE(grads[1].defined());
    seen.push_back(Values(grads[0]));
    grads[0] = Make({10, 20});
  });
  node->AddPostHook(
      [&](std::span<Tensor> input_grads, std::span<const Tensor> grads) {
        ASSERT_EQ(input_grads.size(), 1u);
        seen.push_back(Values(grads[0]));
        seen.push_back(Values(input_grads[0]));
        input_grads[0] = Make({5, 6, 7, 8});
      });
  Run(a);
  EXPECT_EQ(seen, (std::vector<V>{{1, 1}, {10, 20}, {10, 20, 0, 0}}));
  EXPECT_EQ(Values(GetGrad(x)), (V{5, 6, 7, 8}));
}

TEST_F(NodeHooksTest, ReplacementMustBeLikeWhatItReplaces) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, x);
  const IntrusivePtr<Node> node = GradEdge(y).node;
  const int64_t id = node->AddPreHook([](std::span<Tensor> grads) {
    grads[0] = Make({1, 2});
  });
  EXPECT_THAT(
      ErrorOf([&] { Run(y, {.retain_graph = true}); }),
      HasSubstr("a hook on multiply made the gradient of output 0, which "
                "is [1] float64, into [2] float64"));
  node->RemoveHook(id);
  node->AddPostHook([](std::span<Tensor> g, std::span<const Tensor>) {
    g[1] = Make({1, 2});
  });
  EXPECT_THAT(ErrorOf([&] { Run(y, {.retain_graph = true}); }),
              HasSubstr("the gradient of input 1"));
}

TEST_F(NodeHooksTest, HookThatTakesItselfOffWhileItRuns) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, x);
  Node* node = GradEdge(y).node.get();
  auto kept = std::make_shared<int>(0);
  int64_t id = 0;
  id = node->AddPreHook([&, kept](std::span<Tensor>) {
    ++*kept;
    EXPECT_TRUE(node->RemoveHook(id));
    EXPECT_GE(kept.use_count(), 2);  // this function still lives
  });
  Run(y, {.retain_graph = true});
  Run(y);
  EXPECT_EQ(*kept, 1);
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_F(NodeHooksTest, ErrorEndsThePassAndTheGraphCanBeUsedAgain) {
  Tensor x = Leaf({3});
  Tensor y = Mul(x, x);
  Node* node = GradEdge(y).node.get();
  const int64_t id = node->AddPreHook(
      [](std::span<Tensor>) { throw std::runtime_error("no"); });
  EXPECT_THROW(Run(y), std::runtime_error);
  node->RemoveHook(id);
  Run(y);
  EXPECT_EQ(Values(GetGrad(x)), V{6});
}

TEST_F(NodeHooksTest, AtALeafRunAroundAccumulation) {
  Tensor x = Leaf({3});
  const IntrusivePtr<Node> leaf = GradEdge(x).node;
  V before, after;
  leaf->AddPreHook([&](std::span<Tensor> g) { before = Values(g[0]); });
  leaf->AddPostHook([&](std::span<Tensor> g, std::span<const Tensor> grads) {
    EXPECT_TRUE(g.empty() && grads.empty());
    after = Values(GetGrad(x));
    SetGrad(x, Mul(GetGrad(x), Make({10})));
  });
  Run(Add(Mul(x, x), x));
  EXPECT_EQ(before, V{7});
  EXPECT_EQ(after, V{7});
  EXPECT_EQ(Values(GetGrad(x)), V{70});
  // Nothing accumulates in Grad.
  after = {};
  Tensor y = Mul(x, x);
  Grad({&y, 1}, {&x, 1}, {}, {}, false, {});
  EXPECT_EQ(after, V{});
}

TEST_F(NodeHooksTest, GradRunsThoseOfNodesThatRun) {
  Tensor x = Leaf({3}), w = Leaf({4});
  Tensor y = Mul(x, Make({1})), z = Mul(w, Make({1}));
  Tensor out = Mul(y, z);
  GradEdge(y).node->AddPreHook(Pre("y"));
  GradEdge(z).node->AddPreHook(Pre("z"));
  Grad({&out, 1}, {&x, 1}, {}, {}, false, {});
  EXPECT_EQ(log, "y");
}

TEST_F(NodeHooksTest, VisitHooks) {
  Tensor x = Leaf({3});
  Node& node = *GradEdge(x).node;
  AddHook(x, [](const Tensor&) { return Tensor(); });
  node.AddPreHook(Pre(""));
  node.AddPostHook(Post(""));
  int n = 0;
  node.VisitHooks([&](const TensorHook&) { n += 1; },
                  [&](const NodePreHook&) { n += 10; },
                  [&](const NodePostHook&) { n += 100; });
  EXPECT_EQ(n, 111);
}

}  // namespace
}  // namespace proa::inline v0::autograd
