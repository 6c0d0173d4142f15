// Constants of a program that is being recorded: values that depend on no
// input, no parameter and no random draw. They may be read before the program
// runs, and leave the program when they are used outside of it:
//
//   n = paddle.arange(4)     recorded, a value of the program
//   for i in n.tolist(): ... read: the calls that make it are made at once
#ifndef PROA_JIT_CONSTANT_H_
#define PROA_JIT_CONSTANT_H_

#include <span>

#include "jit/program.h"
#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// True if `t` is symbolic and a constant.
bool IsConstant(const Tensor& t);
// True if what `op` makes of `args` in `program` is one.
bool GivesConstant(const Program& program, const OpDefinition& op,
                   std::span<const Value> args);

// The elements of a symbolic constant: a new tensor (or a view of a captured
// one). Undefined if `t` is none, or if the program changes what it is made of.
Tensor ElementsOfConstant(const Tensor& t);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_CONSTANT_H_
