// For formulas whose sums are wider than what they are sums of: a product of
// 16-bit operands is added up in float32. Where such an operand is a cast of a
// float32 tensor, rounding its gradient to 16 bits, only to be cast back, costs
// digits and a pass over memory: the formula gives float32 instead.
//
//   const DType dtype = GradDType(*this, 1, weight_dtype_);
//   input_grads[1] = ops::linear_grad_weight(g, x, dtype);
#ifndef PROA_AUTOGRAD_GRAD_DTYPE_H_
#define PROA_AUTOGRAD_GRAD_DTYPE_H_

#include "autograd/node.h"
#include "tensor/dtype.h"

namespace proa::inline v0::autograd {

// What a node is besides, if it gives its input in another dtype and takes the
// gradient of that in either.
class TakesWiderGrads {
 public:
  // The dtype of the input.
  virtual DType source_dtype() const = 0;

 protected:
  ~TakesWiderGrads() = default;
};

// Within Backward of `node`: the dtype in which to give the gradient of input
// `i`, which is of dtype `own`. Float32 if `own` has 16 bits and the producer
// of that input is a cast of something wider; `own` if not, or if others see
// the gradient on its way (hooks on the cast, and who asks for it there).
DType GradDType(const Node& node, int i, DType own);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_GRAD_DTYPE_H_
