// A program reduced to what its entry points need.
#ifndef PROA_JIT_PRUNE_H_
#define PROA_JIT_PRUNE_H_

#include "jit/liveness.h"
#include "jit/program_file.h"

namespace proa::inline v0::jit {

// A new program with the operations that `module.outputs` depend on, values
// numbered anew: training operations, unused inputs and constants are gone, and
// changes of captured tensors but for those that `changes` keeps.
// Inputs named by the module stay. Captured tensors are shared. Throws Error if
// an output depends on an input that the module does not name.
Module Prune(const Module& module, Changes changes = Changes::kNone);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PRUNE_H_
