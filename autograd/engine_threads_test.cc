// Tests of passes on several threads: disjoint graphs, shared leaves, one
// graph.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/testing_ops.h"
#include "autograd/testing_passes.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Add;
using testing::Exp;
using testing::InThreads;
using testing::kThreads;
using testing::Leaf;
using testing::Make;
using testing::Mul;
using testing::Split;
using testing::Values;
using V = std::vector<double>;

constexpr int kRounds = 200;

using EngineThreadsTest = testing::PassTest;

// Two outputs, shared nodes, saved tensors.
Tensor SomeGraph(const Tensor& x) {
  auto [a, b] = Split(Mul(x, x));
  Tensor y = Mul(a, b);
  for (int i = 0; i < 10; ++i) y = Add(y, Mul(y, a));
  return y;
}

TEST_F(EngineThreadsTest, DisjointGraphs) {
  Tensor reference = Leaf({0.5, 0.25});
  Run(SomeGraph(reference));
  const V expected = Values(GetGrad(reference));
  InThreads([&](int) {
    for (int i = 0; i < kRounds; ++i) {
      Tensor x = Leaf({0.5, 0.25});
      Run(SomeGraph(x));
      EXPECT_EQ(Values(GetGrad(x)), expected);
    }
  });
}

TEST_F(EngineThreadsTest, SharedLeaf) {
  Tensor w = Leaf({2, 3});
  InThreads([&](int) {
    for (int i = 0; i < kRounds; ++i) Run(Mul(w, Make({1, 10})));
  });
  constexpr double n = kThreads * kRounds;
  EXPECT_EQ(Values(GetGrad(w)), (V{n, 10 * n}));
}

TEST_F(EngineThreadsTest, SharedGraph) {
  Tensor x = Leaf({1, 2, 3, 4});
  Tensor out = SomeGraph(x);
  Run(out, {.retain_graph = true});
  V expected = Values(GetGrad(x));
  SetGrad(x, {});
  InThreads([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      if (t % 2 == 0) {
        Tensor g =
            Grad({&out, 1}, {&x, 1}, {}, {.retain_graph = true}, false, {})[0];
        EXPECT_EQ(Values(g), expected);
      } else {
        Run(out, {.retain_graph = true});
      }
    }
  });
  for (double& v : expected) v *= kRounds * (kThreads / 2);
  EXPECT_EQ(Values(GetGrad(x)), expected);
}

TEST_F(EngineThreadsTest, SharedGraphWithHooksAndRetainedGradients) {
  Tensor x = Leaf({1});
  Tensor y = Mul(x, Make({2}));
  Tensor z = Exp(Mul(y, Make({0})));
  std::atomic<int> called{0};
  AddHook(y, [&](const Tensor& g) { return ++called, Add(g, Make({1})); });
  RetainGrad(y);
  InThreads([&](int) {
    for (int i = 0; i < kRounds; ++i) Run(z, {.retain_graph = true});
  });
  constexpr int n = kThreads * kRounds;
  EXPECT_EQ(called, n);
  EXPECT_EQ(Values(GetGrad(y)), V{n});
  EXPECT_EQ(Values(GetGrad(x)), V{2 * n});
}

TEST_F(EngineThreadsTest, LeavesAndRetainingTensorsGoDuringBackward) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> leaves, middles;
    Tensor out = Make({0});
    for (int i = 0; i < 50; ++i) {
      leaves.push_back(Leaf({1}));
      middles.push_back(Add(leaves.back(), Make({1})));
      RetainGrad(middles.back());
      out = Add(out, middles.back());
    }
    std::thread pass([&] { Run(out); });
    leaves.clear();
    middles.clear();
    pass.join();
  }
}

TEST_F(EngineThreadsTest, HigherOrderOnSharedLeaf) {
  Tensor x = Leaf({2});
  InThreads([&](int) {
    for (int i = 0; i < kRounds; ++i) {
      Tensor y = Mul(Mul(x, x), x);
      Tensor g =
          Grad({&y, 1}, {&x, 1}, {},
               {.retain_graph = true, .create_graph = true}, false, {})[0];
      Run(g);
    }
  });
  EXPECT_EQ(Values(GetGrad(x)), V{12.0 * kThreads * kRounds});
}

TEST_F(EngineThreadsTest, ErrorOnOneThreadDoesNoHarmToOthers) {
  Tensor x = Leaf({2, 3});
  Tensor shared = SomeGraph(x);
  Run(shared, {.retain_graph = true});
  const V once = Values(GetGrad(x));
  SetGrad(x, {});
  std::atomic<int> thrown{0};
  InThreads([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      Tensor out = Add(shared, shared);
      if (t == 0) {
        AddHook(out, [](const Tensor&) -> Tensor {
          throw std::runtime_error("mine");
        });
      }
      try {
        Run(out, {.retain_graph = true});
      } catch (const std::runtime_error&) {
        ++thrown;
      }
    }
  });
  EXPECT_EQ(thrown, kRounds);
  const V sum = Values(GetGrad(x));
  for (size_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(sum[i], 2 * (kThreads - 1) * kRounds * once[i],
                1e-9 * std::abs(sum[i]));
  }
}

TEST_F(EngineThreadsTest, PassesWithinHooksOnSharedGraphs) {
  Tensor x = Leaf({2}), w = Leaf({3});
  Tensor inner = Mul(w, w);
  Tensor y = Mul(x, x);
  AddHook(y, [&](const Tensor&) {
    Run(inner, {.retain_graph = true});
    return Tensor();
  });
  Tensor out = Mul(y, Make({1}));
  InThreads([&](int) {
    for (int i = 0; i < kRounds; ++i) Run(out, {.retain_graph = true});
  });
  EXPECT_EQ(Values(GetGrad(x)), V{4.0 * kThreads * kRounds});
  EXPECT_EQ(Values(GetGrad(w)), V{6.0 * kThreads * kRounds});
}

}  // namespace
}  // namespace proa::inline v0::autograd
