// On any device: one value, copied to all places.
#include <optional>

#include "ops/creation/full_kernels.h"
#include "ops/primitives/device/copy.h"

namespace proa::inline v0::ops::device {

void Full(const KernelContext& ctx, const IntArray&, const Scalar& value,
          std::optional<DType>, std::optional<Place>, Tensor* out) {
  Fill(ctx, *out, value);
}

void FullLike(const KernelContext& ctx, const Tensor&, const Scalar& value,
              std::optional<DType>, Tensor* out) {
  Fill(ctx, *out, value);
}

}  // namespace proa::inline v0::ops::device
