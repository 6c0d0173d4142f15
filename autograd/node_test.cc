#include "autograd/node.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "autograd/grad_state.h"
#include "autograd/testing_ops.h"

namespace proa::inline v0::autograd {
namespace {

using testing::CountedNode;
using testing::live_nodes;

class PlainNode : public CountedNode {
 public:
  void Backward(std::span<const Tensor>, std::span<Tensor>) override {}
  const char* name() const override { return "plain"; }
};

template <size_t kBytes>
class FatNode final : public PlainNode {
 public:
  std::array<char, kBytes> payload = {};
};

TEST(NodeTest, LaterNodesHaveLargerSequenceNumbers) {
  uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    auto node = MakeNode<PlainNode>();
    EXPECT_GT(node->sequence(), last);
    last = node->sequence();
  }
}

TEST(NodeTest, SequenceNumbersAreUniqueAcrossThreads) {
  std::vector<uint64_t> a, b;
  const auto fill = [](std::vector<uint64_t>* out) {
    for (int i = 0; i < 2000; ++i) {
      out->push_back(MakeNode<PlainNode>()->sequence());
    }
  };
  std::thread other(fill, &b);
  fill(&a);
  other.join();
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  EXPECT_EQ(std::adjacent_find(a.begin(), a.end()), a.end());
}

TEST(NodeTest, EdgesSayWhichGradientsAreNeeded) {
  auto input = MakeNode<PlainNode>();
  auto node = MakeNode<PlainNode>();
  node->AddEdge({input, 0});
  node->AddEdge({});
  node->AddEdge({input, 3});
  EXPECT_TRUE(node->needs_input_grad(0));
  EXPECT_FALSE(node->needs_input_grad(1));
  EXPECT_TRUE(node->needs_input_grad(2));
  EXPECT_EQ(node->edges()[2].slot, 3u);
  EXPECT_EQ(node->edges().size(), 3u);
}

TEST(NodeTest, MillionNodesDieWithoutRecursion) {
  const int before = live_nodes;
  auto node = MakeNode<PlainNode>();
  for (int i = 1; i < 1'000'000; ++i) {
    auto next = MakeNode<PlainNode>();
    next->AddEdge({std::move(node), 0});
    node = std::move(next);
  }
  EXPECT_EQ(live_nodes, before + 1'000'000);
  node = nullptr;
  EXPECT_EQ(live_nodes, before);
}

TEST(NodeTest, ChainThroughTensorsDiesWithoutRecursion) {
  const int before = live_nodes;
  {
    // Each node saves its input, whose history is the node before.
    testing::InstallTestOps();
    Tensor w = testing::Leaf({1});
    Tensor x = w;
    for (int i = 0; i < 300'000; ++i) x = testing::Mul(x, w);
    EXPECT_EQ(live_nodes, before + 300'000);
  }
  EXPECT_EQ(live_nodes, before);
}

TEST(NodeTest, EverySizeOfNode) {
  const int before = live_nodes;
  for (int i = 0; i < 3; ++i) {
    auto a = MakeNode<FatNode<1>>();
    auto b = MakeNode<FatNode<60>>();
    auto c = MakeNode<FatNode<200>>();
    auto d = MakeNode<FatNode<350>>();
    auto e = MakeNode<FatNode<100'000>>();
    a->payload.fill(1), b->payload.fill(2), c->payload.fill(3);
    d->payload.fill(4), e->payload.fill(5);
    EXPECT_EQ(live_nodes, before + 5);
  }
  EXPECT_EQ(live_nodes, before);
}

TEST(NodeTest, MadeOnOneThreadAndDestroyedOnAnother) {
  const int before = live_nodes;
  std::vector<IntrusivePtr<Node>> nodes;
  std::thread([&] {
    for (int i = 0; i < 10'000; ++i) nodes.push_back(MakeNode<PlainNode>());
  }).join();
  nodes.clear();
  EXPECT_EQ(live_nodes, before);
}

TEST(NodeTest, HooksAreFoundById) {
  auto node = MakeNode<PlainNode>();
  EXPECT_FALSE(node->RemoveHook(1));
  const auto keep = [](const Tensor&) { return Tensor(); };
  const int64_t a = node->AddHook(0, keep);
  const int64_t b = node->AddHook(0, keep);
  EXPECT_NE(a, b);
  EXPECT_TRUE(node->RemoveHook(a));
  EXPECT_FALSE(node->RemoveHook(a));
  EXPECT_TRUE(node->RemoveHook(b));
}

}  // namespace
}  // namespace proa::inline v0::autograd
