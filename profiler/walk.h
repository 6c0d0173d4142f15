// Walk: goes through the ranges of a recording as they nest, thread by thread,
// with the self time of each, its place in the program and its innermost
// surroundings. What all statistics are made of.
//
//   Walk(recording, {.leave = [&](const Visit& v) { sum[v.event->name] +=
//   v.self_ns; }});
//
// Ranges of one thread that overlap without nesting (a program may make such)
// are treated as nested in the one that began first, as far as that reaches:
// self times of a thread never add up to more than its time.
#ifndef PROA_PROFILER_WALK_H_
#define PROA_PROFILER_WALK_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "profiler/recording.h"

namespace proa::inline v0::profiler {

// Surroundings of an event, outermost first.
struct Frame {
  const Event* event = nullptr;
  // The layer: the event's own path, or that of the forward op whose backward
  // it is part of, or that of the range around it; may be null.
  const char* path = nullptr;
  const char* source = nullptr;  // the same for the line of the program
  bool backward = false;         // it is part of a backward pass
  int64_t children_ns = 0;       // covered by ranges directly inside
  uint64_t user = 0;             // what the enter function gave
};

struct Visit {
  const Event* event;
  std::span<const Frame> stack;  // the last one is the event itself
  int64_t duration_ns;
  int64_t self_ns;
};

struct WalkFunctions {
  // When a range begins; what it gives is found in the frame later. The stack
  // has the new frame already.
  std::function<uint64_t(std::span<const Frame> stack)> enter;
  // When it has ended.
  std::function<void(const Visit&)> leave;
  // For events that are no ranges: the stack around them, which may be empty.
  std::function<void(const Event&, std::span<const Frame> stack)> moment;
};

// Any function may be empty.
void Walk(const Recording& recording, const WalkFunctions& functions);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_WALK_H_
