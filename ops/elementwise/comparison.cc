// Composite ops of comparison.yaml.
#include "ops/creation/full_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/reduction/extremum_ops.h"

namespace proa::inline v0::ops {

Tensor EqualAll(const Tensor& x, const Tensor& y) {
  if (x.shape() == y.shape()) return all(equal(x, y));
  return full(IntArray(Shape()), Scalar(false), DType::kBool, x.place());
}

}  // namespace proa::inline v0::ops
