// Wide, Narrow: the type in which formulas over sums are evaluated. In float16
// a count or a sum above 65,504 is infinite and a gradient that is divided by
// it is silently 0; in bfloat16 three digits are left of it.
#ifndef PROA_OPS_REDUCTION_WIDE_H_
#define PROA_OPS_REDUCTION_WIDE_H_

#include "ops/elementwise/cast_ops.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// float16 and bfloat16 as float32, other types as they are.
inline Tensor Wide(const Tensor& x) {
  const bool half =
      x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16;
  return half ? cast(x, DType::kFloat32) : x;
}

// `x` in the type `dtype` that an argument of Wide had.
inline Tensor Narrow(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : cast(x, dtype);
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_REDUCTION_WIDE_H_
