// Recording: what was recorded, as data: events, threads, processes. Made by
// Collect, by Load from a file and by Merge; read by statistics and exports.
//
// It can be copied; copies share the strings. Header only, no dependencies.
#ifndef PROA_PROFILER_RECORDING_H_
#define PROA_PROFILER_RECORDING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace proa::inline v0::profiler {

enum class EventKind : uint8_t {
  kRange,  // start_ns to end_ns; ranges of a thread nest
  kAsync,  // the same, but it may overlap others of its thread
  kInstant,
  kCounter,    // `value` from now on
  kFlowBegin,  // `correlation` is the id
  kFlowEnd,
  kAllocate,  // name: the tag, category: the place, value: bytes, total,
              // address
  kFree,
};
inline constexpr int kNumEventKinds = 8;

// What an event may say besides.
struct Details {
  const char* shapes = nullptr;  // "[2, 3] float32, [3] float32"
  const char* source = nullptr;  // "train.py:12"
  double flops = 0;  // floating point operations of one call; 0: unknown
  double bytes = 0;  // read and written at least; 0: unknown
};

// Times: CLOCK_MONOTONIC, in nanoseconds. Pointers live as long as the
// recording (those of Collect: for ever).
struct Event {
  const char* name = "";
  const char* category = "";  // e.g. "op", "user"
  int64_t start_ns = 0;
  int64_t end_ns = 0;                // start_ns for what is no range
  double value = 0;                  // by kind
  const Details* details = nullptr;  // may be null
  const char* path = nullptr;        // of PathScope; may be null
  // Ties events together; 0: none. Flows: the id. Memory: the address. Ops: the
  // largest number of a grad node made so far on the thread; backward ranges:
  // the number of their node; device activities: that of the call which
  // launched them.
  uint64_t correlation = 0;
  double total = 0;     // memory: allocated at the place after it
  uint32_t thread = 0;  // index into Recording::threads
  EventKind kind = EventKind::kRange;
};

// The order of Recording::events.
inline bool Earlier(const Event& a, const Event& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  return a.end_ns > b.end_ns;
}

struct ThreadInfo {
  int64_t system_id = 0;  // gettid(); of a device's queue, its number
  std::string name;       // SetThreadName, or as the system knows it
  uint32_t process = 0;   // index into Recording::processes
  // "" for threads of the host; else the place ("gpu:0") whose queue it is.
  std::string device;
};

struct ProcessInfo {
  int64_t system_id = 0;  // getpid()
  std::string name;       // of the program
  std::string host;
  // CLOCK_REALTIME - CLOCK_MONOTONIC: what aligns recordings of different
  // machines.
  int64_t wall_offset_ns = 0;
  std::string boot;  // of the machine: times of one boot compare directly
};

// What the machine can do at best, for percentages of the roof; 0: not known.
struct Roof {
  double gflops_per_s = 0;
  double gbytes_per_s = 0;
};

struct Recording {
  std::vector<Event> events;  // by start; of those, the longest first
  std::vector<ThreadInfo> threads;
  std::vector<ProcessInfo> processes;
  int64_t start_ns = 0;  // of Start
  int64_t stop_ns = 0;   // of Stop, or of Collect while it still runs
  int64_t dropped = 0;   // events for which there was no room
  // Ranges that ended before they began, because a clock went back; they are
  // kept with length 0.
  int64_t clock_steps = 0;
  Roof roof;
  // Owns strings and details that do not live for ever.
  std::shared_ptr<const void> strings;
};

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_RECORDING_H_
