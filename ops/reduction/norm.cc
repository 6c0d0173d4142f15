// Composite ops of norm.yaml.
#include <cmath>

#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/front_door.h"
#include "ops/reduction/norm_ops.h"
#include "ops/reduction/sum_ops.h"
#include "ops/reduction/wide.h"

namespace proa::inline v0::ops {

Tensor PNormBackward(const Tensor& grad_out, const Tensor& x, const Tensor& out,
                     double p, std::span<const int64_t> axis, bool keepdim) {
  if (p == 0) return full_like(x, Scalar(0.0));
  const Tensor wide = Wide(x);
  const IntArray shape = ShapeOf(x);
  const Tensor g = unreduce(Wide(grad_out), shape, axis, keepdim);
  if (p == 1) return Narrow(multiply(g, sign(wide)), x.dtype());
  // In half precision the result may have overflowed though no gradient does.
  const Tensor norm =
      unreduce(wide.dtype() == x.dtype() ? out : p_norm(wide, p, axis, keepdim),
               shape, axis, keepdim);
  const Tensor zero = ScalarLike(wide, Scalar(0.0)),
               one = ScalarLike(wide, Scalar(1.0));
  if (std::isinf(p)) {
    const Tensor there = where(equal(abs(wide), norm), sign(wide), zero);
    return Narrow(multiply(g, there), x.dtype());
  }
  const Tensor none = equal(norm, zero);
  const Tensor divisor = where(none, one, norm);
  if (p == 2) {
    // Left out also for the second gradient, where x alone would be 1.
    return Narrow(multiply(where(none, zero, g), divide(wide, divisor)),
                  x.dtype());
  }
  // Where x is 0, so is its sign: the power, which may be of 0, is left out.
  const Tensor ratio =
      where(equal(wide, zero), one, divide(abs(wide), divisor));
  const Tensor power = pow(ratio, ScalarLike(wide, Scalar(p - 1.0)));
  return Narrow(multiply(g, multiply(sign(wide), power)), x.dtype());
}

}  // namespace proa::inline v0::ops
