// What an op that changes a tensor in place keeps of it for its gradient.
#ifndef PROA_AUTOGRAD_OPS_BEFORE_CHANGE_H_
#define PROA_AUTOGRAD_OPS_BEFORE_CHANGE_H_

#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// `kept`, an argument that a formula names, or a copy of it, without history,
// if its memory is that of `changed`, which the op is about to overwrite.
// Symbolic tensors are values of a program, which nothing overwrites.
Tensor BeforeChange(const Tensor& kept, const Tensor& changed);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_OPS_BEFORE_CHANGE_H_
