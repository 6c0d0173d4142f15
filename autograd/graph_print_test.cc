#include "autograd/graph_print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/saved_tensor_hooks.h"
#include "autograd/testing_ops.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using testing::Exp;
using ::testing::HasSubstr;
using testing::Leaf;
using testing::Make;
using testing::Mul;
using testing::Split;

class GraphPrintTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::InstallTestOps(); }
  static GraphPrintOptions Named(const Tensor& leaf, const char* name) {
    return {.leaf_name = [leaf, name](const TensorImpl& impl) {
      return std::string(&impl == leaf.impl() ? name : "");
    }};
  }
};

TEST_F(GraphPrintTest, Text) {
  Tensor w = Leaf({1, 2}), v = Leaf({1, 2});
  Tensor y = Mul(Exp(w), Make({3, 4}));
  Tensor out = Add(y, Mul(y, v));
  EXPECT_EQ(GraphText({&out, 1}, Named(w, "w")),
            "#1 add\n"
            "  input 0: #3 multiply\n"
            "  input 1: #2 multiply\n"
            "#2 multiply, saves x [2] float64, y [2] float64 (32 bytes)\n"
            "  x: #3 multiply\n"
            "  y: leaf [2] float64\n"
            "#3 multiply, saves y [2] float64 (16 bytes)\n"
            "  x: #4 exp\n"
            "  y: no gradient\n"
            "#4 exp, saves out [2] float64 (16 bytes)\n"
            "  input 0: leaf w [2] float64\n");
}

TEST_F(GraphPrintTest, Dot) {
  Tensor w = Leaf({1});
  Tensor out = Mul(w, w);
  EXPECT_EQ(
      GraphDot({&out, 1}, Named(w, "a \"b\"\\")),
      "digraph backward {\n"
      "  node [shape=box];\n"
      "  n1 [label=\"multiply\\nsaves x [1] float64, y [1] float64 (8 "
      "bytes)\"];\n"
      "  leaf1 [shape=ellipse, style=filled, label=\"leaf a \\\"b\\\"\\\\ [1] "
      "float64\"];\n"
      "  n1 -> leaf1 [label=\"x\"];\n"
      "  n1 -> leaf1 [label=\"y\"];\n"
      "}\n");
}

TEST_F(GraphPrintTest, OutputsOfANodeWithSeveral) {
  Tensor x = Leaf({1, 2});
  auto [a, b] = Split(x);
  Tensor out = Add(a, b);
  EXPECT_THAT(GraphText({&out, 1}), HasSubstr("input 1: #2 split, output 1\n"));
}

TEST_F(GraphPrintTest, BoundedAndWithoutRecursion) {
  constexpr int kDeep = 300'000;  // frames that no stack would hold
  Tensor x = Leaf({1});
  Tensor out = Add(x, x);
  for (int i = 1; i < kDeep; ++i) out = Add(out, x);
  const std::string text = GraphText({&out, 1}, {.max_nodes = 2});
  EXPECT_EQ(text,
            "#1 add\n  input 0: #2 add\n  input 1: leaf [1] float64\n"
            "#2 add\n  input 0: add, not shown\n  input 1: leaf [1] float64\n"
            "and 299998 more (max_nodes)\n");
  EXPECT_THAT(GraphDot({&out, 1}, {.max_nodes = 2}),
              HasSubstr("label=\"299998 more\""));
  const std::string all = GraphText({&out, 1}, {.max_nodes = 0});
  EXPECT_EQ(std::ranges::count(all, '#'), 2 * kDeep - 1);
}

TEST_F(GraphPrintTest, LeavesAndTensorsWithoutHistory) {
  Tensor x = Leaf({1}), plain = Make({1}), none;
  EXPECT_EQ(GraphText({&x, 1}), "leaf [1] float64\n");
  EXPECT_EQ(GraphText({&plain, 1}), "");
  EXPECT_EQ(GraphText({&none, 1}), "");
  EXPECT_EQ(GraphDot({&plain, 1}),
            "digraph backward {\n  node [shape=box];\n}\n");
}

TEST_F(GraphPrintTest, LeafThatIsGoneAndReleasedAndPackedTensors) {
  Tensor out = Mul(Leaf({1}), Make({2}));
  EXPECT_THAT(GraphText({&out, 1}), HasSubstr("x: leaf that is gone\n"));
  Backward({&out, 1}, {}, {});
  EXPECT_THAT(GraphText({&out, 1}), HasSubstr("#1 multiply\n"));
  SavedTensorHooks hooks([](const Tensor&) { return nullptr; },
                         [](const std::shared_ptr<void>&) { return Tensor(); });
  out = Mul(Leaf({1}), Make({2}));
  EXPECT_THAT(GraphText({&out, 1}),
              HasSubstr("saves y [1] float64 (packed)\n"));
}

}  // namespace
}  // namespace proa::inline v0::autograd
