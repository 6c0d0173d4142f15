// One recorded call made again: the op's own front door on the values at hand.
// Shared by the evaluator and by the recorder, which evaluates constants.
#ifndef PROA_JIT_OPERATION_CALL_H_
#define PROA_JIT_OPERATION_CALL_H_

#include <vector>

#include "jit/program.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// The tensor of each value, by ValueId; undefined while not made or released.
using Environment = std::vector<Tensor>;

// An argument as the op takes it: the tensors of now, or the attribute.
Value ArgumentValue(const Argument& a, const Environment& env);

// Calls the op of `o`, which has no regions, and stores what it gives. An
// attribute that is a value of the program is read now.
void CallOperation(const Operation& o, Environment& env);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_OPERATION_CALL_H_
