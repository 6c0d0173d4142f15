#include <vector>

#include "jit/effects.h"
#include "jit/pass.h"

namespace proa::inline v0::jit {
namespace {

void Run(Rewriter& r) {
  std::vector<Operation*> operations;
  r.ForEachOperation([&](Operation& o) { operations.push_back(&o); });
  // From the end, so that what only dead operations use is dead, too.
  for (size_t i = operations.size(); i-- > 0;) {
    Operation& o = *operations[i];
    // In a region that went with its operation.
    if (r.uses().block_of(o) == nullptr) continue;
    bool needed = ChangesTensors(o);
    ForEachResult(o, [&](ValueId id) { needed |= r.uses().is_used(id); });
    if (!needed) r.Erase(o);
  }
}

const PassRegistration registration(
    {"dead_code",
     "Takes out operations that give nothing that is used, and change nothing.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
