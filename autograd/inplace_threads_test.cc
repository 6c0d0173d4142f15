// Tests of views of one root that several threads use and change.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/inplace.h"
#include "autograd/testing_ops.h"
#include "autograd/testing_passes.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {
namespace {

using testing::AddInplace;
using testing::Clone;
using testing::InThreads;
using testing::kThreads;
using testing::Leaf;
using testing::Make;
using testing::Mul;
using testing::Part;
using testing::Values;
using V = std::vector<double>;

using InplaceThreadsTest = testing::PassTest;

constexpr int kRounds = 100;

TEST_F(InplaceThreadsTest, AStaleViewIsUsed) {
  for (int round = 0; round < kRounds; ++round) {
    Tensor x = Leaf({1, 2, 3});
    Tensor b = Clone(x);
    Tensor stale = Part(b, 1, 2);
    AddInplace(b, Mul(x, x));  // b = x + x^2
    std::vector<Tensor> results(kThreads);
    InThreads([&](int t) {
      // Each derives the history of the view anew, or finds it done.
      Tensor y = Mul(stale, Make({1.0 + t, 1.0 + t}));
      Run(y, {.retain_graph = true});
      results[t] = y;
    });
    // The sum over threads of (t + 1) (1 + 2 x).
    EXPECT_EQ(Values(GetGrad(x)), (V{0, 50, 70}));
    for (int t = 0; t < kThreads; ++t) {
      EXPECT_EQ(Values(results[t]), (V{6.0 * (t + 1), 12.0 * (t + 1)}));
    }
  }
}

TEST_F(InplaceThreadsTest, DisjointViewsAreChanged) {
  for (int round = 0; round < kRounds; ++round) {
    Tensor x = Leaf(V(kThreads, 2));
    Tensor b = Clone(x);
    std::vector<Tensor> parts, added;
    for (int t = 0; t < kThreads; ++t) {
      parts.push_back(Part(b, t, 1));
      added.push_back(Leaf({10.0 * t}));
    }
    InThreads([&](int t) {
      AddInplace(parts[t], added[t]);
      AddInplace(parts[t], parts[t]);
    });
    EXPECT_EQ(Values(b), (V{4, 24, 44, 64}));
    Backward({&b, 1}, {}, {});  // in whatever order the changes came
    EXPECT_EQ(Values(GetGrad(x)), V(kThreads, 2));
    for (const Tensor& w : added) EXPECT_EQ(Values(GetGrad(w)), V{2});
  }
}

TEST_F(InplaceThreadsTest, OneViewIsChangedWhileOthersAreUsed) {
  for (int round = 0; round < kRounds; ++round) {
    Tensor x = Leaf({1, 2, 3, 4});
    Tensor b = Clone(x);
    Tensor changed = Part(b, 0, 1), used = Part(b, 1, 3), w = Leaf({5});
    InThreads([&](int t) {
      if (t == 0) {
        for (int i = 0; i < 5; ++i) AddInplace(changed, w);
      } else {
        for (int i = 0; i < 5; ++i) Run(Mul(used, Make({1, 2, 3})));
      }
    });
    EXPECT_EQ(Values(GetGrad(x)), (V{0, 15, 30, 45}));
    EXPECT_EQ(Values(b), (V{26, 2, 3, 4}));
    Run(b);
    EXPECT_EQ(Values(GetGrad(x)), (V{1, 16, 31, 46}));
    EXPECT_EQ(Values(GetGrad(w)), V{5});
  }
}

TEST_F(InplaceThreadsTest, AConstantBecomesARootThatRequiresGrad) {
  // The first recorded change makes the root require grad, whichever it is.
  for (int round = 0; round < kRounds; ++round) {
    Tensor b = Make(V(kThreads, 1));
    std::vector<Tensor> parts, added;
    for (int t = 0; t < kThreads; ++t) {
      parts.push_back(Part(b, t, 1));
      added.push_back(Leaf({1.0 * t}));
    }
    InThreads([&](int t) { AddInplace(parts[t], added[t]); });
    EXPECT_TRUE(RequiresGrad(b));
    Run(b);
    for (const Tensor& w : added) EXPECT_EQ(Values(GetGrad(w)), V{1});
  }
}

TEST_F(InplaceThreadsTest, PlainChangesAreCounted) {
  Tensor b = Make(V(kThreads, 0));
  std::vector<Tensor> parts;
  for (int t = 0; t < kThreads; ++t) parts.push_back(Part(b, t, 1));
  const uint32_t before = b.version();
  InThreads([&](int t) {
    for (int i = 0; i < kRounds; ++i) AddInplace(parts[t], Make({1}));
  });
  EXPECT_EQ(Values(b), V(kThreads, kRounds));
  EXPECT_EQ(b.version() - before, kThreads * kRounds);
}

}  // namespace
}  // namespace proa::inline v0::autograd
