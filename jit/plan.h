// A program as it is run: what some outputs need of it, after the passes, with
// the same numbers of values. Made once for a version of the program.
#ifndef PROA_JIT_PLAN_H_
#define PROA_JIT_PLAN_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "jit/liveness.h"
#include "jit/program.h"

namespace proa::inline v0::jit {

struct Plan {
  std::shared_ptr<const Program> program;
  std::vector<ValueId> outputs;
  Liveness liveness;              // of `program`, where nothing is skipped
  std::vector<ValueId> captured;  // those that are needed
  std::vector<ValueId> inputs;    // likewise
};

// Throws Error for an output that the program does not make, and for a name
// that no pass has.
Plan MakePlan(const Program& program, std::vector<ValueId> outputs,
              Changes changes, std::span<const std::string_view> passes);
// With the default passes.
Plan MakePlan(const Program& program, std::vector<ValueId> outputs,
              Changes changes);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PLAN_H_
