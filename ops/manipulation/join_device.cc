// On any device: several tensors are copied into the parts of one.
#include <cstdint>
#include <span>

#include "ops/manipulation/join_kernels.h"
#include "ops/primitives/device/copy.h"

namespace proa::inline v0::ops::device {

void Concat(const KernelContext&, std::span<const Tensor> xs, int64_t axis,
            Tensor* out) {
  if (out->numel() == 0) return;
  const int a = NormalizeAxis("concat", axis, out->rank());
  int64_t offset = 0;
  for (const Tensor& x : xs) {
    if (x.numel() == 0) continue;
    Copy(x, out->AsStrided(x.shape(), out->strides(), offset));
    offset += x.size(a) * out->strides()[a];
  }
}

void Stack(const KernelContext&, std::span<const Tensor> xs, int64_t axis,
           Tensor* out) {
  if (out->numel() == 0) return;
  const int a = NormalizeAxis("stack", axis, out->rank());
  Strides strides = out->strides();
  const int64_t step = strides[a];
  strides.erase(strides.begin() + a);
  int64_t offset = 0;
  for (const Tensor& x : xs) {
    Copy(x, out->AsStrided(x.shape(), strides, offset));
    offset += step;
  }
}

}  // namespace proa::inline v0::ops::device
