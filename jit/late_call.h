// Late attributes: numbers that only the run of a program knows. Wherever an op
// takes a number, a truth value or a list of numbers, a value of the program
// may stand, as a tensor of sizes may stand for a shape; the operation names
// it:
//
//   %3, %4 = topk(%0, k=%2, axis=-1, largest=true, sorted=true)
//
// When the operation runs, the op is called with the elements
// (ops/boxed_call.h). Dims of results that depend on them are unknown sizes.
// Inference asks the op's own rules with several numbers in their place: what
// these agree on is recorded, and the evaluator checks it when the number is
// there (an error, never a wrong size). Where the number of dims, of tensors or
// the dtype depends on the number, recording it is refused.
#ifndef PROA_JIT_LATE_CALL_H_
#define PROA_JIT_LATE_CALL_H_

#include <span>

#include "jit/program.h"
#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// Records the call, without gradients. What CallBoxed comes to.
void RecordLateCall(const OpDefinition& op, std::span<const Value> args,
                    std::span<Value> results);

// Hangs gradients on what a late call gave, an operation just recorded, whose
// arguments were `args`; installed by late_call_grad.
using LateCallGrad = void (*)(const OpDefinition& op,
                              std::span<const Value> args,
                              std::span<const Value> results);
void InstallLateCallGrad(LateCallGrad grad);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_LATE_CALL_H_
