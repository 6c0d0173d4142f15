// On any device: sizes are known to the host.
#include <algorithm>
#include <cstdint>

#include "ops/manipulation/shape_kernels.h"
#include "ops/primitives/device/copy.h"
#include "tensor/copy.h"

namespace proa::inline v0::ops::device {

void ShapeOfTensor(const KernelContext&, const Tensor& x, Tensor* out) {
  const Tensor host = Tensor::Empty(out->shape(), DType::kInt64);
  std::ranges::copy(x.shape(), host.data<int64_t>());
  CopyInto(host, *out, /*blocking=*/false);
}

void NumelOfTensor(const KernelContext& ctx, const Tensor& x, Tensor* out) {
  Fill(ctx, *out, Scalar(x.numel()));
}

}  // namespace proa::inline v0::ops::device
