// On any device: ones on a diagonal.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "ops/creation/range_kernels.h"
#include "ops/primitives/device/copy.h"

namespace proa::inline v0::ops::device {

void Eye(const KernelContext& ctx, int64_t, std::optional<int64_t>,
         std::optional<DType>, std::optional<Place>, Tensor* out) {
  Zero(ctx, *out);
  const int64_t n = std::min(out->size(0), out->size(1));
  if (n == 0) return;
  Fill(ctx, out->AsStrided({n}, {out->size(1) + 1}, 0), Scalar(int64_t{1}));
}

}  // namespace proa::inline v0::ops::device
