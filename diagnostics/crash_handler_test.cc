// What happens while an op runs, and under Python:
// python/tests/crash_handler_test.py.
#include "diagnostics/crash_handler.h"

#include <signal.h>

#include <cstdlib>

#include "gtest/gtest.h"

namespace proa::inline v0 {
namespace {

bool Installed() {
  struct sigaction now;
  sigaction(SIGBUS, nullptr, &now);
  return now.sa_handler != SIG_DFL;
}

TEST(CrashHandlerTest, TakesNothingUnlessAskedAndPutsBack) {
  const bool before = Installed();
  EXPECT_FALSE(CrashHandlerEnabled());
  EnableCrashHandler();
  EnableCrashHandler();
  EXPECT_TRUE(CrashHandlerEnabled());
  EXPECT_TRUE(Installed());
  DisableCrashHandler();
  EXPECT_FALSE(CrashHandlerEnabled());
  EXPECT_EQ(Installed(), before);
}

// The sanitizers handle these signals themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(CrashHandlerDeathTest, ReportsAndDiesOfTheSameSignal) {
  const auto die = [] {
    EnableCrashHandler();
    std::abort();
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGABRT), "\\*\\*\\* SIGABRT");
}
#endif

}  // namespace
}  // namespace proa::inline v0
