// Copies of programs, structure by structure.
#ifndef PROA_JIT_CLONE_H_
#define PROA_JIT_CLONE_H_

#include <memory>
#include <vector>

#include "jit/program.h"

namespace proa::inline v0::jit {

// A copy with the same numbers of values. Captured tensors are shared.
std::shared_ptr<Program> Clone(const Program& program);

// A copy of an operation, its regions too, whose values are `ids[old]`; where
// that is kNoValue, a new value of `to` is made and noted.
Operation CopyOperation(const Program& from, const Operation& o, Program& to,
                        std::vector<ValueId>& ids);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_CLONE_H_
