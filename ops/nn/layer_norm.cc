// Gradients of the gradient of layer normalization, as formulas over ops.
//
// With xh the normalized x, r = 1 / sqrt(variance + epsilon), h = grad_out *
// weight and means over a row, the gradient is  dx = r (h - mean(h) - xh mean(h
// xh)).
#include <optional>

#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/front_door.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/nn/layer_norm_ops.h"
#include "ops/reduction/sum_ops.h"

namespace proa::inline v0::ops {
namespace {

int First(const Tensor& x, int64_t begin_axis) {
  return NormalizeAxis("layer_norm", begin_axis, x.rank());
}

// The dims of a row, as axes.
DimVector RowAxes(const Tensor& x, int64_t begin_axis) {
  DimVector axes;
  for (int d = First(x, begin_axis); d < x.rank(); ++d) axes.push_back(d);
  return axes;
}

Tensor RowMean(const Tensor& t, const DimVector& axes) {
  return mean(t, std::span<const int64_t>(axes.data(), axes.size()), true);
}

// t times weight, which may have the dims of a row or be flat.
Tensor TimesWeight(const Tensor& t, const Tensor& weight, int64_t begin_axis) {
  if (!weight.defined()) return t;
  const int first = First(t, begin_axis);
  if (weight.rank() == t.rank() - first) return multiply(t, weight);
  const auto row = t.shape().span().subspan(first);
  return multiply(t, reshape(weight, IntArray(row)));
}

}  // namespace

Tensor LayerNormBiasGrad(const Tensor& grad_out, const IntArray& bias_shape,
                         int64_t begin_axis, std::optional<DType> dtype) {
  DimVector axes;
  for (int d = 0; d < First(grad_out, begin_axis); ++d) axes.push_back(d);
  const Tensor total =
      axes.empty()
          ? grad_out
          : sum(grad_out, std::span<const int64_t>(axes.data(), axes.size()),
                dtype);
  return reshape(total, bias_shape);
}

// The map from h to dx is symmetric, so its adjoint is itself.
Tensor LayerNormGradGradOut(const Tensor& grad, const Tensor& x,
                            const Tensor& weight, int64_t begin_axis,
                            double epsilon) {
  return TimesWeight(
      layer_norm_input_grad(grad, x, Tensor(), begin_axis, epsilon), weight,
      begin_axis);
}

// With G the incoming gradient, L = sum(G dx) depends on x through xh and r:
//   dL/dxh = -r (G mean(h xh) + h mean(G xh)),  dL/dr = sum(G dx) / r,
// xh's own gradient is layer_norm_input_grad, and dr/dx = -r^2 xh / n.
Tensor LayerNormGradX(const Tensor& grad, const Tensor& grad_out,
                      const Tensor& x, const Tensor& weight, int64_t begin_axis,
                      double epsilon) {
  const DimVector axes = RowAxes(x, begin_axis);
  const Tensor h = TimesWeight(grad_out, weight, begin_axis);
  const Tensor xh = layer_norm(x, Tensor(), Tensor(), begin_axis, epsilon);
  const Tensor centered = subtract(x, RowMean(x, axes));
  const Tensor r = rsqrt(scale(RowMean(multiply(centered, centered), axes),
                               Scalar(1.0), Scalar(epsilon)));
  const Tensor by_xh =
      neg(multiply(r, add(multiply(grad, RowMean(multiply(h, xh), axes)),
                          multiply(h, RowMean(multiply(grad, xh), axes)))));
  const Tensor dx = layer_norm_input_grad(h, x, Tensor(), begin_axis, epsilon);
  const Tensor by_r =
      multiply(multiply(r, xh), RowMean(multiply(grad, dx), axes));
  return subtract(
      layer_norm_input_grad(by_xh, x, Tensor(), begin_axis, epsilon), by_r);
}

}  // namespace proa::inline v0::ops
