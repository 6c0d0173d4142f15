// Which operations of a block something depends on, and where values are used
// last.
#ifndef PROA_JIT_LIVENESS_H_
#define PROA_JIT_LIVENESS_H_

#include <cstdint>
#include <vector>

#include "jit/effects.h"
#include "jit/program.h"
#include "jit/uses.h"

namespace proa::inline v0::jit {

struct Liveness {
  std::vector<bool> skip;  // by operation of the outer block: nothing needs it
  std::vector<bool> live;  // by value: read or fetched
  // By operation: values that are not used after it.
  std::vector<std::vector<ValueId>> last_use;
};

// Which operations that change captured tensors are needed though nobody reads
// what they give.
enum class Changes : uint8_t {
  kNone,  // inference: no updates of parameters, no running statistics; what
          // prints and asserts (ReachesOut) stays
  kRead,  // of tensors that something needed reads: counters, caches
  kMade,  // by what is needed anyway: running statistics, but no updates of
          // parameters, whose gradients nobody needs
  kAll,
};

// `given`: the inputs that there are, besides those that fetches depend on.
// What prints or asserts of other inputs is not needed.
Liveness Analyze(const Program& program, const std::vector<ValueId>& fetches,
                 Changes changes, const std::vector<ValueId>& given = {});

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_LIVENESS_H_
