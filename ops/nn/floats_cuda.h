// FloatCopy for tensors on a device, by the op cast.
#ifndef PROA_OPS_NN_FLOATS_CUDA_H_
#define PROA_OPS_NN_FLOATS_CUDA_H_

#include "ops/elementwise/cast_ops.h"
#include "tensor/copy.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {

// `t` itself if it is a dense tensor of `dtype` already, or undefined.
inline Tensor FloatsOf(const Tensor& t, DType dtype) {
  if (!t.defined() || (t.dtype() == dtype && t.is_contiguous())) return t;
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  return Contiguous(t.dtype() == dtype ? t : cast(t, dtype));
}

// `t` itself if it is of a floating dtype, any of them, or undefined.
inline Tensor AnyFloatsOf(const Tensor& t) {
  if (!t.defined()) return t;
  return FloatsOf(t, IsFloat(t.dtype()) ? t.dtype() : DType::kFloat32);
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_NN_FLOATS_CUDA_H_
