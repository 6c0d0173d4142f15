// One recorded call made again: the op's own front door on the values at hand.
// For one call, as where constants are worked out; blocks are run by
// evaluate.h.
#ifndef PROA_JIT_OPERATION_CALL_H_
#define PROA_JIT_OPERATION_CALL_H_

#include "jit/environment.h"
#include "jit/program.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// An argument as the op takes it: the tensors of now, or the attribute.
Value ArgumentValue(const Argument& a, const Environment& env);

// Calls the op of `o`, which has no regions, and stores what it gives. An
// attribute that is a value of the program is read now.
void CallOperation(const Operation& o, Environment& env);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_OPERATION_CALL_H_
