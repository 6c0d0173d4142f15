// Views without dims of size 1.
#include <cstdint>
#include <span>

#include "ops/indexing/drop_kernels.h"
#include "ops/indexing/indexing_infer.h"

namespace proa::inline v0::ops::cpu {

void DropDims(const KernelContext&, const Tensor& x,
              std::span<const int64_t> axis, Tensor* out) {
  const uint64_t dropped = infer::DroppedDims("drop_dims", x, axis);
  Shape shape;
  Strides strides;
  for (int i = 0; i < x.rank(); ++i) {
    if ((dropped >> i & 1) != 0) continue;
    shape.push_back(x.size(i));
    strides.push_back(x.strides()[i]);
  }
  *out = x.AsStrided(shape, strides, 0);
}

}  // namespace proa::inline v0::ops::cpu
