#include "tensor/interpreters.h"

#include <gtest/gtest.h>

#include <thread>

namespace proa::inline v0 {
namespace {

TEST(Interpreters, FlagsAndScopes) {
  EXPECT_EQ(ActiveInterpreters(0), 0u);
  EXPECT_EQ(ActiveInterpreters(kDifferentiate), kDifferentiate);
  {
    auto no_grad = InterpreterScope::Forbid(kDifferentiate);
    EXPECT_FALSE(GradEnabled());
    EXPECT_EQ(ActiveInterpreters(kDifferentiate | kRecord), kRecord);
    {
      auto grad = InterpreterScope::Allow(kDifferentiate);
      EXPECT_TRUE(GradEnabled());
      auto autocast = InterpreterScope::Force(kAutocast);
      EXPECT_EQ(ActiveInterpreters(0), kAutocast);
    }
    EXPECT_EQ(ActiveInterpreters(kDifferentiate), 0u);
  }
  EXPECT_TRUE(GradEnabled());
}

TEST(Interpreters, BelongToTheThread) {
  auto no_grad = InterpreterScope::Forbid(kDifferentiate);
  std::thread([] { EXPECT_TRUE(GradEnabled()); }).join();
}

}  // namespace
}  // namespace proa::inline v0
