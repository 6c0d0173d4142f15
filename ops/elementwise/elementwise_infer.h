// Shape and dtype rules of the elementwise family; see ops/infer.h.
#ifndef PROA_OPS_ELEMENTWISE_ELEMENTWISE_INFER_H_
#define PROA_OPS_ELEMENTWISE_ELEMENTWISE_INFER_H_

#include <optional>

#include "tensor/dtype.h"
#include "tensor/scalar.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// Of the gradient of an elementwise op: that of `of`, the argument or result of
// the op, which `grad_out` must have too. (Broadcasting would be taken for what
// the op did, and the gradient of the gradient would have another shape.)
Shape gradient_of(const char* op, const Tensor& grad_out, const Tensor& of);

// The complex type whose parts have the common type of the arguments.
DType complex_of(const char* op, const Tensor& real, const Tensor& imag);

// Of x between two numbers: float32 for integers beside a fraction (or a
// floating-point number that could have one).
DType promote_limited(const char* op, const Tensor& x,
                      const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_ELEMENTWISE_ELEMENTWISE_INFER_H_
