#include "profiler/clock.h"

#include <time.h>

#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace proa::inline v0::profiler::internal {
namespace {

enum class Kind : int { kMonotonic, kCounter, kTest };

bool HasSteadyCounter() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
#else
  return false;
#endif
}

Kind MachineKind() {
  static const Kind kind =
      HasSteadyCounter() ? Kind::kCounter : Kind::kMonotonic;
  return kind;
}

// Asked at load; a child of fork() that was made while another thread stood in
// its first call would wait for that thread for ever.
[[maybe_unused]] const Kind at_load = MachineKind();

// Before anything is known it is the slow clock, and no recording has begun.
constinit std::atomic<Kind> kind{Kind::kMonotonic};
constinit std::atomic<int64_t (*)()> test_clock{nullptr};

int64_t Read(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

struct Reading {
  int64_t ticks;
  int64_t ns;
};

// The two clocks at one moment: of some tries, the one that took least.
Reading ReadBoth() {
  Reading best{};
  int64_t least = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const int64_t before = Ticks();
    const int64_t ns = MonotonicNs();
    const int64_t after = Ticks();
    if (after - before < least) {
      least = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

}  // namespace

int64_t MonotonicNs() { return Read(CLOCK_MONOTONIC); }
int64_t WallNs() { return Read(CLOCK_REALTIME); }

int64_t Ticks() {
  const Kind k = kind.load(std::memory_order_relaxed);
#if defined(__x86_64__)
  if (k == Kind::kCounter) [[likely]]
    return static_cast<int64_t>(__rdtsc());
#endif
  if (k == Kind::kTest) {
    if (const auto clock = test_clock.load(std::memory_order_relaxed)) {
      return clock();
    }
  }
  return MonotonicNs();
}

TickScale TickScale::Measure() {
  TickScale scale;
  if (kind.load(std::memory_order_relaxed) == Kind::kTest) return scale;
  kind.store(MachineKind(), std::memory_order_relaxed);
  if (MachineKind() == Kind::kMonotonic) return scale;
  static const Reading first = ReadBoth();
  constexpr int64_t kLeast = 2'000'000;
  Reading now = ReadBoth();
  while (now.ns - first.ns < kLeast) {
    const timespec rest{0, kLeast - (now.ns - first.ns)};
    nanosleep(&rest, nullptr);
    now = ReadBoth();
  }
  scale.ticks_ = first.ticks;
  scale.ns_ = first.ns;
  scale.ns_per_tick_ = static_cast<double>(now.ns - first.ns) /
                       static_cast<double>(now.ticks - first.ticks);
  return scale;
}

int64_t TickScale::ToNs(int64_t ticks) const {
  return ns_ + static_cast<int64_t>(static_cast<double>(ticks - ticks_) *
                                    ns_per_tick_);
}

void SetClockForTest(int64_t (*clock)()) {
  test_clock.store(clock, std::memory_order_relaxed);
  kind.store(clock != nullptr ? Kind::kTest : MachineKind(),
             std::memory_order_relaxed);
}

}  // namespace proa::inline v0::profiler::internal
