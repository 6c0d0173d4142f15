// On any device: a copy.
#include "ops/creation/store_kernels.h"
#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::device {

void Store(const KernelContext&, const Tensor& x, const Tensor& value) {
  PROA_REQUIRE(x.shape() == value.shape() && x.dtype() == value.dtype(),
               "store_: value does not fit; x is ", Describe(x), ", value is ",
               Describe(value));
  CopyInto(value, x, /*blocking=*/false);
}

}  // namespace proa::inline v0::ops::device
