// Composite ops of scan.yaml.
#include <vector>

#include "ops/creation/creation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/complex_ops.h"
#include "ops/elementwise/logical_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/front_door.h"
#include "ops/manipulation/arrange_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/scan_ops.h"
#include "ops/reduction/wide.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops {
namespace {

Tensor SumFromEnd(const Tensor& x, int64_t axis) {
  const int64_t axes[] = {axis};
  return flip(cumsum(flip(x, axes), axis, x.dtype()), axes);
}

}  // namespace

Tensor CumsumBackward(const Tensor& grad_out, const IntArray& shape,
                      std::optional<int64_t> axis) {
  if (!axis.has_value()) return reshape(SumFromEnd(grad_out, 0), shape);
  return shape.size() == 0 ? grad_out : SumFromEnd(grad_out, *axis);
}

// With y_k = x_1 ... x_k, dL/dx_i = sum over k >= i of g_k y_k / x_i. Where no
// factor is 0 that is a running sum from the end, divided by x. For a line
// whose first zero is at z: before z the same sum stops at z by itself (y_k = 0
// from z on); at z it is y_(z-1) times the sum of g_k times the product of
// x_(z+1) ... x_k, up to the next zero; after z it is 0. Both are written with
// x' = x where the zeros count as 1.
Tensor CumprodBackward(const Tensor& grad_out, const Tensor& x,
                       std::optional<int64_t> dim) {
  if (const Tensor wide = Wide(x); wide.dtype() != x.dtype()) {
    return Narrow(CumprodBackward(Wide(grad_out), wide, dim), x.dtype());
  }
  if (x.rank() == 0) return reshape(grad_out, ShapeOf(x));
  if (!dim.has_value()) {
    const Tensor flat = reshape(x, IntArray{-1});
    return reshape(CumprodBackward(grad_out, flat, int64_t{0}), ShapeOf(x));
  }
  const Tensor zero = ScalarLike(x, Scalar(0.0)),
               one = ScalarLike(x, Scalar(1.0));
  const Tensor is_zero = equal(x, zero);
  const Tensor zeros_so_far = cumsum(is_zero, *dim, DType::kInt32);
  const Tensor safe = where(is_zero, one, x);
  const Tensor product = cumprod(safe, *dim, x.dtype());
  const Tensor terms = multiply(grad_out, conj(product));
  const Tensor no_zero =
      equal(zeros_so_far, ScalarLike(zeros_so_far, Scalar(0)));
  const Tensor one_zero =
      equal(zeros_so_far, ScalarLike(zeros_so_far, Scalar(1)));
  const Tensor before = SumFromEnd(where(no_zero, terms, zero), *dim);
  const Tensor at_zero = SumFromEnd(where(one_zero, terms, zero), *dim);
  const Tensor first_zero = logical_and(is_zero, one_zero);
  const Tensor numerator =
      where(first_zero, at_zero, where(no_zero, before, zero));
  return divide(numerator, conj(safe));
}

}  // namespace proa::inline v0::ops
