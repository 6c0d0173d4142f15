// Composite ops of activation.yaml: second derivatives of the smooth units.
#include "ops/creation/creation_ops.h"
#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/front_door.h"

namespace proa::inline v0::ops {
namespace {

Tensor Affine(const Tensor& x, double factor, double offset) {
  return scale(x, Scalar(factor), Scalar(offset));
}

}  // namespace

// s (1 - s) (2 + x (1 - 2 s)).
Tensor SiluSecond(const Tensor& x) {
  const Tensor s = sigmoid(x);
  return multiply(multiply(s, Affine(s, -1, 1)),
                  Affine(multiply(x, Affine(s, -2, 1)), 1, 2));
}

// Exact: density(x) (2 - x^2). With tanh: u = k (x + c x^3), t = tanh(u),
// (1 - t^2) (u' + x u'' / 2 - x t u'^2).
Tensor GeluSecond(const Tensor& x, bool approximate) {
  const Tensor x2 = square(x);
  if (!approximate) {
    return multiply(Affine(exp(Affine(x2, -0.5, 0)), 0.3989422804014327, 0),
                    Affine(x2, -1, 2));
  }
  constexpr double k = 0.7978845608028654, c = 0.044715;
  const Tensor t = tanh(multiply(x, Affine(x2, k * c, k)));
  const Tensor du = Affine(x2, 3 * k * c, k);
  const Tensor half_x_ddu = Affine(x2, 3 * k * c, 0);
  const Tensor inner =
      subtract(add(du, half_x_ddu), multiply(multiply(x, t), square(du)));
  return multiply(Affine(square(t), -1, 1), inner);
}

}  // namespace proa::inline v0::ops
