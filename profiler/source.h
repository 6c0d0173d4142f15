// Source: a part of a program that takes part in recordings: it is told when
// one begins and ends, and may add what it recorded by itself. Tracers of
// devices are sources; so are rooms that switch something on while a recording
// runs.
//
//   class Queues final : public profiler::Source {
//    public:
//     void Start(const profiler::Options& options) override { ... }
//     void Stop() override { ... }              // wait for what is under way
//     void Collect(profiler::Recording* recording) override {
//       recording->threads.push_back({.system_id = 7, .device = "gpu:0"});
//       ...                                     // and events with that thread
//     }
//   };
//   profiler::RegisterSource(new Queues);
#ifndef PROA_PROFILER_SOURCE_H_
#define PROA_PROFILER_SOURCE_H_

#include "profiler/events.h"
#include "profiler/recording.h"

namespace proa::inline v0::profiler {

// The functions are called by Start, Stop and Collect (Take), on their threads,
// one at a time, in the order of registration. They must not call these
// themselves, nor throw.
class Source {
 public:
  virtual ~Source() = default;
  // Also when a recording begins anew without a Stop.
  virtual void Start(const Options& options) {}
  // Not in a child of fork, in which the parent's recording does not go on.
  virtual void Stop() {}
  // Appends threads and events; the order of events is mended afterwards. Times
  // are those of CLOCK_MONOTONIC. An event whose `thread` does not exist is
  // dropped.
  virtual void Collect(Recording* recording) {}
};

// From now on; `source` must live for ever.
void RegisterSource(Source* source);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_SOURCE_H_
