// Which operations of a block something depends on, and where values are used
// last.
#ifndef PROA_JIT_LIVENESS_H_
#define PROA_JIT_LIVENESS_H_

#include <cstdint>
#include <vector>

#include "jit/program.h"

namespace proa::inline v0::jit {

// Calls f(id) for each value that an operation reads, those of its regions
// included (values made inside of them too).
template <typename F>
void ForEachUse(const Operation& o, const F& f) {
  for (const Argument& a : o.args) {
    if (const auto* ref = std::get_if<ValueRef>(&a)) {
      if (ref->id != kNoValue) f(ref->id);
    } else if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
      for (ValueRef r : *refs) f(r.id);
    }
  }
  for (const auto& region : o.regions) {
    for (const Operation& inner : region->operations) ForEachUse(inner, f);
    for (ValueId id : region->returns) f(id);
  }
}

// Does the operation, or one in its regions, change captured tensors?
bool ChangesTensors(const Operation& o);

struct Liveness {
  std::vector<bool> skip;  // by operation of the outer block: nothing needs it
  std::vector<bool> live;  // by value: read or fetched
  // By operation: values that are not used after it.
  std::vector<std::vector<ValueId>> last_use;
};

// Which operations that change captured tensors are needed though nobody reads
// what they give.
enum class Changes : uint8_t {
  kNone,  // inference: no updates of parameters, no running statistics
  kRead,  // of tensors that something needed reads: counters, caches
  kAll,
};

Liveness Analyze(const Program& program, const std::vector<ValueId>& fetches,
                 Changes changes);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_LIVENESS_H_
