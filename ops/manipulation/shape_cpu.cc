// Kernels of sizes as tensors.
#include <algorithm>

#include "ops/manipulation/shape_kernels.h"

namespace proa::inline v0::ops::cpu {

void ShapeOfTensor(const KernelContext&, const Tensor& x, Tensor* out) {
  std::copy(x.shape().begin(), x.shape().end(), out->data<int64_t>());
}

void NumelOfTensor(const KernelContext&, const Tensor& x, Tensor* out) {
  *out->data<int64_t>() = x.numel();
}

}  // namespace proa::inline v0::ops::cpu
