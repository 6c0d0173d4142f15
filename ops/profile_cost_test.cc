// What a profiler that does not record costs a call of an op: nothing, counted
// in machine instructions. Time would not show it: one instruction is a third
// of a nanosecond, and machines are noisier than that.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "gtest/gtest.h"
#include "ops/elementwise/binary_ops.h"
#include "profiler/events.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

// Sanitizers add instructions of their own, not always the same.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)

constexpr int kCalls = 16;

Tensor Ones() {
  Tensor t = Tensor::Empty({4}, DType::kFloat32);
  for (int i = 0; i < 4; ++i) t.data<float>()[i] = 1;
  return t;
}

// What the child does. Breakpoints are around what is counted.
void Calls(bool profiled_before, bool profiled_now) {
  if (profiled_before) {
    profiler::Start();
    profiler::Range range("before");
    ops::add(Ones(), Ones());
    profiler::Stop();
  }
  if (profiled_now) profiler::Start();
  const Tensor x = Ones(), y = Ones();
  // Memory, kernels and names are looked up in the first calls.
  for (int i = 0; i < 64; ++i) ops::add(x, y);
  asm volatile("int3" ::: "memory");
  for (int i = 0; i < kCalls; ++i) ops::add(x, y);
  asm volatile("int3" ::: "memory");
  _exit(0);
}

// Instructions of the child between its two breakpoints, by single steps; -1
// where one process may not trace another.
int64_t CountInstructions(bool profiled_before, bool profiled_now) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    Calls(profiled_before, profiled_now);
  }
  int status = 0;
  int64_t count = 0;
  int breakpoints = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    siginfo_t info{};
    ptrace(PTRACE_GETSIGINFO, child, nullptr, &info);
    const bool trap = WSTOPSIG(status) == SIGTRAP;
    if (trap && info.si_code == SI_KERNEL) {
      ++breakpoints;
    } else {
      ++count;
    }
    const bool counting = breakpoints == 1;
    if (!counting && breakpoints == 0) count = 0;
    // Other signals, of a sanitizer or a crash, are delivered.
    ptrace(counting ? PTRACE_SINGLESTEP : PTRACE_CONT, child, nullptr,
           trap ? 0 : WSTOPSIG(status));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 && breakpoints == 2
             ? count
             : -1;
}

TEST(ProfileCost, NothingWhenOff) {
  const int64_t never = CountInstructions(false, false);
  if (never < 0) GTEST_SKIP() << "a process may not trace its child here";
  EXPECT_GT(never, kCalls * 50);
  EXPECT_EQ(CountInstructions(false, false), never) << "the count repeats";
  EXPECT_EQ(CountInstructions(true, false), never);
  const int64_t on = CountInstructions(false, true);
  EXPECT_GT(on, never + kCalls * 20);
  RecordProperty("instructions_a_call_off", static_cast<int>(never / kCalls));
  RecordProperty("instructions_a_call_on", static_cast<int>(on / kCalls));
}

#endif

}  // namespace
}  // namespace proa::inline v0
