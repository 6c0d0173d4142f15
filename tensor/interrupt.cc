#include "tensor/interrupt.h"

#include <chrono>
#include <utility>

namespace proa::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;

constinit InterruptCheck installed = nullptr;
constinit thread_local Clock::time_point last_look{};
constinit thread_local bool off = false;

}  // namespace

namespace internal {

thread_local constinit uint32_t interrupt_turns = 0;

void LookForInterrupt() {
  if (installed == nullptr || off) return;
  const Clock::time_point now = Clock::now();
  if (now - last_look < std::chrono::milliseconds(20)) return;
  last_look = now;
  installed();
}

}  // namespace internal

WithoutInterruptChecks::WithoutInterruptChecks()
    : before_(std::exchange(off, true)) {}

WithoutInterruptChecks::~WithoutInterruptChecks() { off = before_; }

void InstallInterruptCheck(InterruptCheck check) { installed = check; }

}  // namespace proa::inline v0
