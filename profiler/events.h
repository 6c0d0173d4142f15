// Named time ranges of the threads of a process: opened and closed cheaply while a
// recording runs, collected afterwards.
//
//   profiler::Start();
//   {
//     profiler::Range range("load batch");   // ends with the scope
//     ...
//   }
//   profiler::Stop();
//   profiler::Recording r = profiler::Collect();
//
// Off, a Range costs one relaxed load and a branch. On, it costs two readings of the
// clock; each thread writes to a buffer of its own, of bounded size, and what does
// not fit is counted, not kept. This is the collecting end only: statistics, export
// and device activities build upon it.
#ifndef PROA_PROFILER_EVENTS_H_
#define PROA_PROFILER_EVENTS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace proa::inline v0::profiler {

// One closed range. Times: CLOCK_MONOTONIC, in nanoseconds.
struct Event {
  const char* name;      // valid for ever
  const char* category;  // e.g. "op", "user"
  int64_t start_ns;
  int64_t end_ns;
  uint32_t thread;  // index into Recording::threads
};

struct ThreadInfo {
  int64_t system_id;  // gettid()
  std::string name;   // as the system knows it
};

struct Recording {
  std::vector<Event> events;  // by start; of those, the longest first
  std::vector<ThreadInfo> threads;
  int64_t start_ns = 0;  // of Start
  int64_t stop_ns = 0;   // of Stop, or of Collect while it still runs
  int64_t dropped = 0;   // events for which there was no room
};

struct Options {
  // Room for each thread; 40 bytes an event, taken as they come.
  int64_t events_per_thread = int64_t{1} << 20;
};

// Begins a recording; what an earlier one has left is discarded. Ranges that are
// open already are not part of it. Calling it while one runs begins anew.
void Start(const Options& options = {});
// Ends it. Ranges still open are dropped. Nothing to do if none runs.
void Stop();
// A copy of what has been recorded; while it runs, of the ranges closed so far.
Recording Collect();

namespace internal {
// The number of the running recording; 0: none.
extern constinit std::atomic<uint32_t> recording;
int64_t Now();
void Add(const char* name, const char* category, int64_t start_ns,
         uint32_t recording);
}  // namespace internal

inline bool Enabled() {
  return internal::recording.load(std::memory_order_relaxed) != 0;
}

// A copy of `name` that is never freed, equal pointers for equal names. For names
// made at run time, which a Range does not copy. Thread-safe; cost: a look-up.
const char* Intern(std::string_view name);

class Range {
 public:
  // `name` and `category` must live for ever: literals, names of ops, Intern.
  explicit Range(const char* name, const char* category = "user")
      : recording_(internal::recording.load(std::memory_order_relaxed)) {
    if (recording_ != 0) [[unlikely]] {
      name_ = name;
      category_ = category;
      start_ns_ = internal::Now();
    }
  }
  ~Range() {
    if (recording_ != 0) [[unlikely]] {
      internal::Add(name_, category_, start_ns_, recording_);
    }
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  const uint32_t recording_;
  const char* name_;
  const char* category_;
  int64_t start_ns_;
};

// Adds a range whose times were measured elsewhere. Dropped if no recording runs.
void AddEvent(const char* name, const char* category, int64_t start_ns,
              int64_t end_ns);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_EVENTS_H_
