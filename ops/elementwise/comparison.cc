// Composite ops of comparison.yaml.
#include "ops/creation/creation_ops.h"
#include "ops/elementwise/elementwise_ops.h"
#include "ops/reduction/reduction_ops.h"

namespace proa::inline v0::ops {

Tensor EqualAll(const Tensor& x, const Tensor& y) {
  if (x.shape() == y.shape()) return all(equal(x, y));
  return full(IntArray(Shape()), Scalar(false), DType::kBool, x.place());
}

}  // namespace proa::inline v0::ops
