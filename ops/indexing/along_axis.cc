// Composites: the ways to put along an axis, and gradients.
#include <string_view>

#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/complex_ops.h"
#include "ops/elementwise/logical_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/front_door.h"
#include "ops/indexing/along_axis_ops.h"
#include "ops/indexing/sort_ops.h"
#include "ops/manipulation/view_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

Tensor PutAlongAxis(const Tensor& x, const Tensor& indices, const Tensor& value,
                    int64_t axis, std::string_view reduce) {
  if (reduce == "assign") return put_along_axis_assign(x, indices, value, axis);
  if (reduce == "add") return put_along_axis_add(x, indices, value, axis);
  if (reduce == "multiply" || reduce == "mul") {
    return put_along_axis_multiply(x, indices, value, axis);
  }
  FailArgument("put_along_axis: unknown reduce '", reduce,
               "'; use assign, add or multiply");
}

// The product of the other factors is out / value, but for a zero: for the only
// zero of a place it is the product of all but the zeros, for one of several it
// is 0, as out is.
Tensor PutAlongAxisMultiplyGrad(const Tensor& grad_out, const Tensor& x,
                                const Tensor& indices, const Tensor& value,
                                const Tensor& out, int64_t axis) {
  const Tensor zero = ScalarLike(value, Scalar(0.0));
  const Tensor is_zero = equal(value, zero);
  const Tensor safe = where(is_zero, ScalarLike(value, Scalar(1.0)), value);
  const Tensor zeros =
      put_along_axis_add(full(ShapeOf(x), Scalar(0.0), x.dtype(), x.place()),
                         indices, cast(is_zero, x.dtype()), axis);
  const Tensor only_zero =
      logical_and(is_zero, equal(take_along_axis(zeros, indices, axis),
                                 ScalarLike(zeros, Scalar(1.0))));
  const Tensor others = put_along_axis_multiply(x, indices, safe, axis);
  return where(
      only_zero,
      take_along_axis(multiply(grad_out, conj(others)), indices, axis),
      divide(take_along_axis(multiply(grad_out, conj(out)), indices, axis),
             conj(safe)));
}

Tensor ChosenAlongAxisGrad(const Tensor& dy, const Tensor& indices,
                           const IntArray& shape, int64_t axis, bool keepdim) {
  // A 0-d tensor has no dim that could be missing.
  if (keepdim || shape.size() == 0) {
    return take_along_axis_grad(dy, indices, shape, axis);
  }
  const int64_t axes[] = {axis};
  return take_along_axis_grad(unsqueeze(dy, axes), unsqueeze(indices, axes),
                              shape, axis);
}

}  // namespace proa::inline v0::ops
