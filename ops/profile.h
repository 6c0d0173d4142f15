// The profiler as an observer of op calls (ops/observers.h): each becomes a
// range of the running recording (profiler/events.h), on every thread that
// calls ops; with shapes, dtypes, the user's line, arithmetic and memory events
// where the recording wants them; and the kernel that ran, as a range of its
// own (profiler::AddKernel): what of the call is before it is inference,
// checks, casts and allocation.
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
};

// Call at start-up.
void InstallProfileHooks(const ProfileHooks& hooks);

// Of a call with these arguments and results; 0 where it is not known. Floating
// point operations: what the schema says (`flops`), else one for each element
// of the result (pointwise) or of the arguments (reductions). Bytes: what it
// must at least read and write, all tensors once, nothing for views.
double FlopsOf(const OpDefinition& op, std::span<const Value> args,
               std::span<const Value> results);
double BytesOf(const OpDefinition& op, std::span<const Value> args,
               std::span<const Value> results);

}  // namespace proa::inline v0

#endif  // PROA_OPS_PROFILE_H_
