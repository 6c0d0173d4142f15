// Composite ops of running.yaml.
#include <optional>

#include "ops/front_door.h"
#include "ops/indexing/along_axis_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/running_ops.h"
#include "ops/reduction/wide.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops {

Tensor RunningExtremumBackward(const Tensor& grad_out, const Tensor& indices,
                               const IntArray& shape,
                               std::optional<int64_t> axis) {
  if (axis.has_value() && shape.size() > 0) {
    return take_along_axis_grad(grad_out, indices, shape, *axis);
  }
  const Tensor g = reshape(grad_out, IntArray{-1});
  const Tensor at = reshape(indices, IntArray{-1});
  return reshape(take_along_axis_grad(g, at, ShapeOf(g), 0), shape);
}

Tensor LogcumsumexpBackward(const Tensor& grad_out, const Tensor& x,
                            const Tensor& out, std::optional<int64_t> axis) {
  const Tensor wide = Wide(x);
  // Of half precision what is formed anew is more precise.
  const Tensor sums =
      wide.dtype() == x.dtype() ? out : logcumsumexp(wide, axis);
  const Tensor g = Wide(grad_out);
  if (axis.has_value() && x.rank() > 0) {
    return Narrow(running_softmax(g, wide, sums, *axis, true), x.dtype());
  }
  const IntArray line{-1};
  const Tensor x_grad = running_softmax(reshape(g, line), reshape(wide, line),
                                        reshape(sums, line), 0, true);
  return Narrow(reshape(x_grad, ShapeOf(x)), x.dtype());
}

}  // namespace proa::inline v0::ops
