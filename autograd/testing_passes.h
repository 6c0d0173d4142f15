// PassTest: the fixture of tests that run passes over the ops of testing_ops.h.
// No node outlives a test. And InThreads: what threads do that start together.
#ifndef PROA_AUTOGRAD_TESTING_PASSES_H_
#define PROA_AUTOGRAD_TESTING_PASSES_H_

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "autograd/engine.h"
#include "autograd/testing_ops.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd::testing {

class PassTest : public ::testing::Test {
 protected:
  void SetUp() override { InstallTestOps(); }
  void TearDown() override { EXPECT_EQ(live_nodes, 0); }

  static void Run(const Tensor& out, BackwardOptions options = {}) {
    Backward({&out, 1}, {}, options);
  }
};

inline constexpr int kThreads = 4;

// f(thread), thread in [0, kThreads), on as many threads.
template <typename F>
void InThreads(F f) {
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      f(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace proa::inline v0::autograd::testing

#endif  // PROA_AUTOGRAD_TESTING_PASSES_H_
