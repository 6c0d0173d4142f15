// Kernels of parts by strides.
#include <cstdint>
#include <span>

#include "ops/manipulation/manipulation_infer.h"
#include "ops/manipulation/strided_kernels.h"
#include "ops/primitives/cpu/strided_add.h"
#include "ops/primitives/cpu/strided_copy.h"

namespace proa::inline v0::ops::cpu {
namespace {

// The part of a contiguous `x`; inference has seen that it lies inside.
Tensor PartOf(const Tensor& x, const Shape& shape,
              std::span<const int64_t> strides, int64_t offset) {
  return x.AsStrided(shape, Strides(strides.begin(), strides.end()),
                     shape.numel() == 0 ? 0 : offset);
}

}  // namespace

void AsStrided(const KernelContext&, const Tensor& x, const IntArray& shape,
               std::span<const int64_t> strides, int64_t offset, Tensor* out) {
  *out = PartOf(x, infer::as_strided("as_strided", x, shape, strides, offset),
                strides, offset);
}

void AsStridedGrad(const KernelContext&, const Tensor& dy, const IntArray&,
                   std::span<const int64_t> strides, int64_t offset,
                   Tensor* out) {
  Zero(*out);
  if (dy.numel() == 0) return;
  const Tensor part = PartOf(*out, dy.shape(), strides, offset);
  StridedAdd(dy.dtype(), dy.shape(), part.raw_data(), part.strides(),
             dy.raw_data(), dy.strides());
}

void AsStridedSet(const KernelContext&, const Tensor& x, const Tensor& value,
                  const IntArray& shape, std::span<const int64_t> strides,
                  int64_t offset, Tensor* out) {
  CopyElements(x, *out);
  CopyElements(value, PartOf(*out,
                             infer::as_strided("as_strided_set", x, shape,
                                               strides, offset),
                             strides, offset));
}

}  // namespace proa::inline v0::ops::cpu
