// Kernels of tensors of one value.
#include "ops/creation/full_kernels.h"
#include "ops/primitives/cpu/strided_copy.h"

namespace proa::inline v0::ops::cpu {

void Full(const KernelContext&, const IntArray&, const Scalar& value,
          std::optional<DType>, std::optional<Place>, Tensor* out) {
  Fill(*out, value);
}

void FullLike(const KernelContext&, const Tensor&, const Scalar& value,
              std::optional<DType>, Tensor* out) {
  Fill(*out, value);
}

}  // namespace proa::inline v0::ops::cpu
