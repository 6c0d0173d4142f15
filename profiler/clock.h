// Ticks: the clock of recorded events, as cheap to read as the machine allows,
// and its conversion to nanoseconds of CLOCK_MONOTONIC.
//
// On x86-64 processors whose time stamp counter runs at one rate (CPUID says
// so), a tick is one of its counts, read in about 10 ns; elsewhere a tick is a
// nanosecond of CLOCK_MONOTONIC. Private to this room.
#ifndef PROA_PROFILER_CLOCK_H_
#define PROA_PROFILER_CLOCK_H_

#include <cstdint>

namespace proa::inline v0::profiler::internal {

// Thread-safe. Values of different threads are comparable.
int64_t Ticks();
// CLOCK_MONOTONIC and CLOCK_REALTIME, in nanoseconds.
int64_t MonotonicNs();
int64_t WallNs();

// What turns ticks into nanoseconds: a line through two readings of both
// clocks.
class TickScale {
 public:
  TickScale() = default;  // ticks are nanoseconds
  // The first reading is that of the first call in the process (call it when a
  // recording starts), the second is made here; waits until they are 2 ms
  // apart.
  static TickScale Measure();
  int64_t ToNs(int64_t ticks) const;

 private:
  int64_t ticks_ = 0;
  int64_t ns_ = 0;
  double ns_per_tick_ = 1;
};

// Makes `clock` the source of Ticks (a tick is then a nanosecond); null ends
// it. Not while a recording runs.
void SetClockForTest(int64_t (*clock)());

}  // namespace proa::inline v0::profiler::internal

#endif  // PROA_PROFILER_CLOCK_H_
