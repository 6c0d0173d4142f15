// On any device: parts are written by strided copies.
#include <cstdint>
#include <span>

#include "ops/indexing/index_kernels.h"
#include "ops/manipulation/slice_range.h"
#include "ops/primitives/device/copy.h"

namespace proa::inline v0::ops::device {

void SliceSet(const KernelContext&, const Tensor& x, const Tensor& value,
              std::span<const int64_t> axes, std::span<const int64_t> starts,
              std::span<const int64_t> ends, std::span<const int64_t> strides,
              Tensor* out) {
  if (!out->is_same(x)) Copy(x, *out);
  const SlicePart part = ResolveSlices(
      "slice_set", out->shape(), out->strides(), axes, starts, ends, strides);
  Copy(value, out->AsStrided(part.shape, part.strides, part.offset));
}

}  // namespace proa::inline v0::ops::device
