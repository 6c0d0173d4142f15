// Shape rules of linear algebra (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_LINALG_LINALG_INFER_H_
#define PROA_OPS_LINALG_LINALG_INFER_H_

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// NumPy's rule: 1-D operands are a row on the left, a column on the right, and
// that dim is dropped from the result; leading dims broadcast. A transpose flag
// swaps the last two dims and means nothing for a 1-D operand.
Shape matmul(const char* op, const Tensor& x, const Tensor& y, bool transpose_x,
             bool transpose_y);
// [..., in] and [in, out] to [..., out]; `bias` is undefined or [out].
Shape linear(const char* op, const Tensor& x, const Tensor& weight,
             const Tensor& bias);
// The shape of x, which must be [..., N, N].
Shape square(const char* op, const Tensor& x);
// The dims before the last two of such an x.
Shape square_batch(const char* op, const Tensor& x);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_LINALG_LINALG_INFER_H_
