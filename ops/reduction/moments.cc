// Composite ops of moments.yaml.
#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/logical_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/front_door.h"
#include "ops/reduction/moments_ops.h"
#include "ops/reduction/sum_ops.h"
#include "ops/reduction/wide.h"

namespace proa::inline v0::ops {

// Counts and sums of half precision are of float32 (wide.h).
Tensor VarBackward(const Tensor& grad_out, const Tensor& x,
                   std::span<const int64_t> axis, bool unbiased, bool keepdim) {
  const Tensor wide = Wide(x);
  const IntArray shape = ShapeOf(x);
  const Tensor distance = subtract(wide, mean(wide, axis, /*keepdim=*/true));
  // Counted by adding ones: sizes may be unknown in a program.
  const Tensor count =
      sum(full_like(wide, Scalar(1.0)), axis, std::nullopt, true);
  const Tensor divisor =
      scale(count, Scalar(1.0), Scalar(unbiased ? -1.0 : 0.0));
  const Tensor g = unreduce(Wide(grad_out), shape, axis, keepdim);
  return Narrow(multiply(g, divide(scale(distance, Scalar(2.0)), divisor)),
                x.dtype());
}

Tensor StdBackward(const Tensor& grad_out, const Tensor& x, const Tensor& out,
                   std::span<const int64_t> axis, bool unbiased, bool keepdim) {
  const Tensor wide = Wide(x);
  // A result of half precision may be infinite, or 0 where it is tiny.
  const Tensor deviation =
      wide.dtype() == x.dtype() ? out : std(wide, axis, unbiased, keepdim);
  const Tensor zero = ScalarLike(deviation, Scalar(0.0)),
               one = ScalarLike(deviation, Scalar(1.0));
  const Tensor flat = equal(deviation, zero);
  const Tensor g = divide(scale(where(flat, zero, Wide(grad_out)), Scalar(0.5)),
                          where(flat, one, deviation));
  return Narrow(VarBackward(g, wide, axis, unbiased, keepdim), x.dtype());
}

Tensor LogsumexpBackward(const Tensor& grad_out, const Tensor& x,
                         const Tensor& out, std::span<const int64_t> axis,
                         bool keepdim) {
  const Tensor wide = Wide(x);
  const IntArray shape = ShapeOf(x);
  // One unit in the last place of a half precision result is a tenth of the
  // gradient.
  const Tensor total =
      wide.dtype() == x.dtype() ? out : logsumexp(wide, axis, keepdim);
  const Tensor g = unreduce(Wide(grad_out), shape, axis, keepdim);
  const Tensor share =
      exp(subtract(wide, unreduce(total, shape, axis, keepdim)));
  return Narrow(multiply(g, share), x.dtype());
}

Tensor Nanmean(const Tensor& x, std::span<const int64_t> axis, bool keepdim) {
  const Tensor nan = isnan(x);
  const Tensor wide = Wide(x);
  const Tensor total = sum(where(nan, ScalarLike(wide, Scalar(0.0)), wide),
                           axis, std::nullopt, keepdim);
  const Tensor count = sum(logical_not(nan), axis, std::nullopt, keepdim);
  const Tensor out = divide(total, count);
  return wide.dtype() == x.dtype() ? out : cast(out, x.dtype());
}

}  // namespace proa::inline v0::ops
