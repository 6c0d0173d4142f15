#include "tensor/fork_locks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace proa {
namespace {

// Runs `f` in a child; whether it returned true.
template <typename F>
bool InChild(F f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);  // a lock that is never given back
    _exit(f() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of threads

TEST(ForkLocksTest, AChildFindsThemFreeAndWhatTheyGuardWhole) {
  static std::mutex outer, inner;
  static int pair[2] = {0, 0};
  HoldWhileForking(inner);
  HoldWhileForking(outer);
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      std::lock_guard first(outer);
      ++pair[0];
      std::lock_guard second(inner);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      ++pair[1];
    }
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(InChild([&] {
      std::lock_guard first(outer);
      std::lock_guard second(inner);
      return pair[0] == pair[1];
    }));
  }
  stop = true;
  busy.join();
}

TEST(ForkLocksTest, AThreadThatHoldsOneForksStill) {
  static std::mutex own;
  HoldWhileForking(own);
  std::lock_guard lock(own);
  EXPECT_TRUE(InChild([] { return true; }));
}

#endif

}  // namespace
}  // namespace proa
