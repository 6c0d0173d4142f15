// Composite ops of moments.yaml.
#include "ops/creation/creation_ops.h"
#include "ops/elementwise/elementwise_ops.h"
#include "ops/front_door.h"
#include "ops/reduction/reduction_ops.h"

namespace proa::inline v0::ops {

Tensor VarBackward(const Tensor& grad_out, const Tensor& x,
                   std::span<const int64_t> axis, bool unbiased, bool keepdim) {
  const IntArray shape = ShapeOf(x);
  const Tensor distance = subtract(x, mean(x, axis, /*keepdim=*/true));
  // Counted by adding ones: sizes may be unknown in a program.
  const Tensor count = sum(full_like(x, Scalar(1.0)), axis, std::nullopt, true);
  const Tensor divisor =
      scale(count, Scalar(1.0), Scalar(unbiased ? -1.0 : 0.0));
  const Tensor g = unreduce(grad_out, shape, axis, keepdim);
  return multiply(g, divide(scale(distance, Scalar(2.0)), divisor));
}

}  // namespace proa::inline v0::ops
