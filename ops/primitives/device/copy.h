// Moving elements on any device, by nothing but its runtime: what kernels for
// "every device" (`kernel: {device: ..}`) are made of. Nothing waits for the
// device, but for runtimes that cannot copy strided tensors.
#ifndef PROA_OPS_PRIMITIVES_DEVICE_COPY_H_
#define PROA_OPS_PRIMITIVES_DEVICE_COPY_H_

#include "ops/kernel.h"
#include "tensor/scalar.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::device {

// The elements of `src`, broadcast to the shape of `dst`, into `dst`; dtypes
// are equal. They may overlap.
void Copy(const Tensor& src, const Tensor& dst);

// `t` under a shape that it broadcasts to: a view.
Tensor BroadcastView(const Tensor& t, const Shape& shape);

// The same with elements of its own, contiguous; `t` itself if it is so.
Tensor Broadcast(const Tensor& t, const Shape& shape);

// All elements of a contiguous tensor.
void Zero(const KernelContext& ctx, const Tensor& t);
// Elements of a tensor of any strides become `value`, converted to its dtype.
void Fill(const KernelContext& ctx, const Tensor& t, const Scalar& value);

}  // namespace proa::inline v0::ops::device

#endif  // PROA_OPS_PRIMITIVES_DEVICE_COPY_H_
