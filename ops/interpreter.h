// Runs the interpreters of an op call (see tensor/interpreters.h for the list).
//
// Rooms above install theirs at start-up; this room includes none of them. An
// interpreter gets the call boxed, does its part, and goes on with
// `definition.call(args, results)` with its own bit forbidden. The
// differentiating one is generated for each op and typed (a function pointer in
// the op's struct), for speed; it is not installed here.
#ifndef PROA_OPS_INTERPRETER_H_
#define PROA_OPS_INTERPRETER_H_

#include <span>

#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/interpreters.h"

namespace proa::inline v0 {

using BoxedInterpreter = void (*)(const OpDefinition& op,
                                  std::span<const Value> args,
                                  std::span<Value> results);

// `bit` is one of kProfile, kAutocast, kRecord. The scope that forbids the bit
// is entered by the caller of `fn`, so that `fn` cannot forget it.
void InstallInterpreter(Interpreters bit, BoxedInterpreter fn);

// Called by a boxed interpreter that is no longer wanted on this thread: takes
// `bit` out of what the thread forces, as soon as it has returned.
void LeaveInterpreter(Interpreters bit);

// Called by front doors when `active` holds a boxed interpreter before (or
// without) the differentiating one: runs the first of `active`.
void Interpret(Interpreters active, const OpDefinition& op,
               std::span<const Value> args, std::span<Value> results);

// True if the first active interpreter is the differentiating one.
inline bool DifferentiateIsNext(Interpreters active) {
  return (active & (kProfile | kAutocast)) == 0 &&
         (active & kDifferentiate) != 0;
}

// Makes the handle's description that of `value`: of a symbolic tensor, so that
// every holder of `x` sees the new program value (programs stay SSA), and of an
// in-place reshape. `value` may live on; it shares its history with `x` then.
// Where `value` is `x`'s own memory under another shape, `x` stays what it is
// for autograd.
void Rebind(const Tensor& x, const Tensor& value);

}  // namespace proa::inline v0

#endif  // PROA_OPS_INTERPRETER_H_
