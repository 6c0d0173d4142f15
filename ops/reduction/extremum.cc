// Composite ops of extremum.yaml.
#include "ops/creation/creation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/front_door.h"
#include "ops/reduction/extremum_ops.h"
#include "ops/reduction/sum_ops.h"

namespace proa::inline v0::ops {

Tensor ExtremumBackward(const Tensor& grad_out, const Tensor& x,
                        const Tensor& out, std::span<const int64_t> axis,
                        bool keepdim, bool evenly) {
  const IntArray shape = ShapeOf(x);
  const Tensor chosen = equal(x, unreduce(out, shape, axis, keepdim));
  Tensor g = grad_out;
  if (evenly) {
    g = divide(g, cast(sum(chosen, axis, std::nullopt, keepdim), g.dtype()));
  }
  return where(chosen, unreduce(g, shape, axis, keepdim),
               ScalarLike(g, Scalar(0.0)));
}

}  // namespace proa::inline v0::ops
