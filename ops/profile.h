// The profiling interpreter: each op call becomes a range of the running
// recording (profiler/events.h), on every thread that calls ops; with shapes,
// dtypes, the user's line, arithmetic and memory events where the recording
// wants them.
//
// It is a source of recordings and needs no call; the functions here are for
// rooms above that know more about a call than this room does.
#ifndef PROA_OPS_PROFILE_H_
#define PROA_OPS_PROFILE_H_

#include <cstdint>
#include <span>

#include "ops/definition.h"
#include "ops/value.h"

namespace proa::inline v0 {

struct ProfileHooks {
  // The number of the last grad node that this thread made.
  uint64_t (*last_grad_node)() = nullptr;
  // "train.py:12", of the caller; null if there is none. Lives for ever.
  const char* (*source_line)() = nullptr;
};

// Functions that are null leave what was installed before.
void InstallProfileHooks(const ProfileHooks& hooks);

// Floating point operations of one call, where neither a count of the elements
// of the result (pointwise) nor of the arguments (reductions) is right: ops
// that multiply matrices register theirs beside their kernels.
using FlopsFunction = double (*)(std::span<const Value> args,
                                 std::span<const Value> results);
class FlopsRegistration {
 public:
  FlopsRegistration(const char* op, FlopsFunction flops);
};

// Of a call with these arguments and results; 0 where it is not known. `bytes`
// is what it must at least read and write: all tensors once, nothing for views.
double FlopsOf(const OpDefinition& op, std::span<const Value> args,
               std::span<const Value> results);
double BytesOf(const OpDefinition& op, std::span<const Value> args,
               std::span<const Value> results);

}  // namespace proa::inline v0

#endif  // PROA_OPS_PROFILE_H_
