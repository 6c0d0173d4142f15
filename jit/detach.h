// The op `detach`: its argument, where no gradient passes. What stands in a
// recorded program for `x.detach()` and for results of `no_grad`, which in
// eager mode are no ops but other handles.
#ifndef PROA_JIT_DETACH_H_
#define PROA_JIT_DETACH_H_

#include "ops/definition.h"

namespace proa::inline v0::jit {

const OpDefinition& DetachOp();

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_DETACH_H_
