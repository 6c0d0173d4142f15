#include "ops/onednn/build_scope.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "gtest/gtest.h"

namespace proa::inline v0::onednn {
namespace {

TEST(BuildScope, ForksWaitForIt) {
  std::atomic<bool> inside = false, left = false;
  std::thread builder([&] {
    const BuildScope scope;
    inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    left = true;
  });
  while (!inside) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // rather than to wait for a thread that is not here
    const BuildScope scope;
    _exit(left ? 0 : 1);
  }
  builder.join();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const BuildScope again;  // the parent has its lock back
}

}  // namespace
}  // namespace proa::inline v0::onednn
