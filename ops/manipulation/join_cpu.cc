// Kernels that copy several tensors into the parts of one.
#include <cstdint>
#include <span>

#include "ops/manipulation/join_kernels.h"
#include "ops/primitives/cpu/strided_copy.h"

namespace proa::inline v0::ops::cpu {

void Concat(const KernelContext&, std::span<const Tensor> xs, int64_t axis,
            Tensor* out) {
  if (out->numel() == 0) return;
  const int64_t item_size = ItemSize(out->dtype());
  const int a = NormalizeAxis("concat", axis, out->rank());
  char* to = out->data<char>();
  for (const Tensor& x : xs) {
    StridedCopy(x.shape(), item_size, to, out->strides(), x.raw_data(),
                x.strides());
    to += x.size(a) * out->strides()[a] * item_size;
  }
}

void Stack(const KernelContext&, std::span<const Tensor> xs, int64_t axis,
           Tensor* out) {
  if (out->numel() == 0) return;
  const int64_t item_size = ItemSize(out->dtype());
  const int a = NormalizeAxis("stack", axis, out->rank());
  Strides strides = out->strides();
  strides.erase(strides.begin() + a);
  char* to = out->data<char>();
  for (const Tensor& x : xs) {
    StridedCopy(x.shape(), item_size, to, strides, x.raw_data(), x.strides());
    to += out->strides()[a] * item_size;
  }
}

}  // namespace proa::inline v0::ops::cpu
