// Events of the threads of a process: ranges, instants, counters, flows and
// memory, written cheaply while a recording runs, collected afterwards.
//
//   profiler::Start();
//   {
//     profiler::Range range("load batch");   // ends with the scope
//     ...
//   }
//   profiler::Stop();
//   profiler::Recording r = profiler::Collect();
//
// Off, each of these costs one relaxed load and a branch. On, a Range costs two
// readings of the clock and one cache line in a ring of its thread: no lock,
// bounded memory, the oldest events give way and are counted. This header is
// included by the tensor room and stays light: statistics and exports are
// targets beside it.
#ifndef PROA_PROFILER_EVENTS_H_
#define PROA_PROFILER_EVENTS_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "profiler/recording.h"

namespace proa::inline v0::profiler {

// What is worth its cost only when asked for; a bit each.
enum Detail : uint32_t {
  kShapes = 1u << 0,   // shapes and dtypes of op arguments
  kSource = 1u << 1,   // the line of the user's program that called an op
  kFlops = 1u << 2,    // arithmetic and memory traffic of ops
  kMemory = 1u << 3,   // allocations
  kKernels = 1u << 4,  // what an op ran, and from when on: an event more
};

struct Options {
  // Room for each thread, 64 bytes an event, taken from the system as it fills.
  int64_t events_per_thread = int64_t{1} << 20;
  // Bound of all rings together; a thread that comes when it is reached has its
  // events counted as dropped.
  int64_t max_bytes = int64_t{4} << 30;
  uint32_t details = 0;  // of Detail
};

// Begins a recording; what an earlier one has left is discarded. Ranges that
// are open already are not part of it. Calling it while one runs begins anew.
void Start(const Options& options = {});
// Ends it. Ranges still open are dropped; events that come later too. Nothing
// to do if none runs.
void Stop();
// A copy of what has been recorded; while it runs, of the events so far. In a
// child of fork, what happened in the child since its own Start; the parent's
// stays with the parent.
Recording Collect();
// The same, but gives the memory of each thread's ring back as it is read.
// Stops first.
Recording Take();

namespace internal {
// The number of the running recording; 0: none.
extern constinit std::atomic<uint32_t> recording;
extern constinit std::atomic<uint32_t> details;  // of the running recording
int64_t Ticks();
// Ends a range that began at `start` ticks in recording `number`.
void AddRange(const char* name, const char* category, int64_t start,
              uint32_t number, const Details* details, uint64_t correlation);
}  // namespace internal

inline bool Enabled() {
  return internal::recording.load(std::memory_order_relaxed) != 0;
}
// True if the running recording wants any of `bits`.
inline bool Wants(uint32_t bits) {
  return (internal::details.load(std::memory_order_relaxed) & bits) != 0;
}

// A copy of `name` that is never freed, equal pointers for equal names. For
// names made at run time, which events do not copy. Any bytes but 0 (it ends
// the name); exporters deal with what is not UTF-8. All copies together are
// bounded (64 MiB); beyond that it gives "(too many names)". Thread-safe; cost:
// a look-up.
const char* Intern(std::string_view name);
// The same for details: equal pointers for equal contents, bounded in number
// (null beyond 2^18). The strings must live for ever.
const Details* InternDetails(const Details& details);

class Range {
 public:
  // `name` and `category` must live for ever: literals, names of ops, Intern.
  explicit Range(const char* name, const char* category = "user")
      : recording_(internal::recording.load(std::memory_order_relaxed)) {
    if (recording_ != 0) [[unlikely]] {
      name_ = name;
      category_ = category;
      details_ = nullptr;
      correlation_ = 0;
      start_ = internal::Ticks();
    }
  }
  ~Range() {
    if (recording_ != 0) [[unlikely]] {
      internal::AddRange(name_, category_, start_, recording_, details_,
                         correlation_);
    }
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  // `details` from InternDetails; for `correlation` see Event.
  void set_details(const Details* details) { details_ = details; }
  void set_correlation(uint64_t correlation) { correlation_ = correlation; }

 private:
  const uint32_t recording_;
  const char* name_;
  const char* category_;
  int64_t start_;
  const Details* details_;
  uint64_t correlation_;
};

// A range whose ends lie in different functions, or on different threads. A
// range that ends on another thread than it began becomes an event of kind
// kAsync of the first thread. Ending one that never began, or twice, does
// nothing.
struct OpenRange {
  int64_t start = 0;
  int64_t end = 0;         // of MarkEnd
  uint32_t recording = 0;  // 0: not open
  uint32_t thread = 0;     // an internal number
};
OpenRange BeginRange();
// What follows until EndRange, which still has to be called, is no part of it.
void MarkEnd(OpenRange* range);
// `details` from InternDetails; for `correlation` see Event.
void EndRange(OpenRange* range, const char* name, const char* category = "user",
              const Details* details = nullptr, uint64_t correlation = 0);

// The part of a range, marked by MarkEnd, in which the work was done: from
// `start` (internal::Ticks) to its end. It is a range of category "kernel" on a
// track of the place "cpu" beside the thread's own, as those of other devices
// have theirs.
void AddKernel(const OpenRange& range, int64_t start, const char* name,
               const Details* details = nullptr);

// A moment.
void Instant(const char* name, const char* category = "user");
// A quantity that has this value from now on: one curve a name.
void Counter(const char* name, double value, const char* category = "user");
// An arrow from one moment to another, perhaps of another thread: both ends
// have the same name and id. NewFlowId gives numbers that no other flow of the
// process has.
uint64_t NewFlowId();
void FlowBegin(const char* name, uint64_t id, const char* category = "user");
void FlowEnd(const char* name, uint64_t id, const char* category = "user");

// Memory. `place` and `tag` ("tensor") live for ever; `total` is what is
// allocated at the place after it. A free without its allocation is kept as
// such.
void Allocated(const char* place, const char* tag, uint64_t address,
               int64_t bytes, int64_t total);
void Freed(const char* place, const char* tag, uint64_t address, int64_t bytes,
           int64_t total);

// Adds a range whose times were measured elsewhere, in nanoseconds of
// CLOCK_MONOTONIC. Dropped if no recording runs.
void AddEvent(const char* name, const char* category, int64_t start_ns,
              int64_t end_ns);

// Registers what the profiler does when the process forks, if that has not been
// done: it takes its locks. A program that calls the profiler under a lock
// which it takes for forks as well calls this first, for handlers run in the
// reverse order of their registration.
void RegisterForkHandlers();

// What this thread is called in recordings, now and later; else the system's
// name for it. At most 255 bytes are kept.
void SetThreadName(std::string_view name);

// Where in the program the thread is, e.g. "encoder.layers.0.attention": every
// event that ends inside carries it. `path` lives for ever; null: nowhere.
class PathScope {
 public:
  explicit PathScope(const char* path) : saved_(Set(path)) {}
  ~PathScope() { Set(saved_); }
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

  // For callers whose scopes are no C++ scopes; returns what it was.
  static const char* Set(const char* path);

 private:
  const char* const saved_;
};
// The line of the user's program, likewise; nothing looks at it unless
// Wants(kSource).
const char* SetSourceLine(const char* line);
const char* SourceLine();

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_EVENTS_H_
