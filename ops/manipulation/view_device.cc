// On any device: the adjoints of views, which copy into zeros.
#include <cstdint>
#include <span>

#include "ops/manipulation/slice_range.h"
#include "ops/manipulation/view_kernels.h"
#include "ops/primitives/device/copy.h"

namespace proa::inline v0::ops::device {
namespace {

Tensor Part(const Tensor& x, const SlicePart& part) {
  return x.AsStrided(part.shape, part.strides, part.offset);
}

}  // namespace

void SliceGrad(const KernelContext& ctx, const Tensor& dy, const IntArray&,
               std::span<const int64_t> axes, std::span<const int64_t> starts,
               std::span<const int64_t> ends, std::span<const int64_t> strides,
               Tensor* out) {
  if (dy.numel() != out->numel()) Zero(ctx, *out);
  Copy(dy, Part(*out, ResolveSlices("slice_grad", out->shape(), out->strides(),
                                    axes, starts, ends, strides)));
}

void DiagonalGrad(const KernelContext& ctx, const Tensor& dy, const IntArray&,
                  int64_t offset, int64_t axis1, int64_t axis2, Tensor* out) {
  Zero(ctx, *out);
  Copy(dy, Part(*out, ResolveDiagonal("diagonal_grad", out->shape(),
                                      out->strides(), offset, axis1, axis2)));
}

void AsComplex(const KernelContext&, const Tensor& x, Tensor* out) {
  if (out->numel() == 0) return;
  // The memory of out as real numbers.
  Copy(x, Tensor::FromStorage(out->storage(), x.dtype(), x.shape(),
                              ContiguousStrides(x.shape()),
                              2 * out->storage_offset()));
}

}  // namespace proa::inline v0::ops::device
