// Kernels of bits.yaml: views, on every device.
#include <cstdint>

#include "ops/manipulation/bits_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {

void ViewDtype(const KernelContext&, const Tensor& x, DType dtype,
               Tensor* out) {
  const int64_t from = ItemSize(x.dtype()), to = ItemSize(dtype);
  Shape shape = x.shape();
  Strides strides = x.strides();
  int64_t offset = x.storage_offset() * from;
  if (x.numel() == 0) {
    // Nothing lies anywhere.
    if (from != to) shape[x.rank() - 1] = shape[x.rank() - 1] * from / to;
    *out = Tensor::FromStorage(x.storage(), dtype, shape,
                               ContiguousStrides(shape), 0);
    out->impl()->is_view = true;
    return;
  }
  if (from != to) {
    const int last = x.rank() - 1;
    PROA_REQUIRE(
        strides[last] == 1 || (shape[last] == 1 && from > to), "view_dtype: ",
        "elements of the last dim must lie one behind the other; x is ",
        Describe(x), " with strides ", ToString(x.strides()));
    bool whole = offset % to == 0;
    for (int d = 0; d < last; ++d) {
      whole = whole && (shape[d] == 1 || strides[d] * from % to == 0);
      strides[d] = strides[d] * from / to;
    }
    PROA_REQUIRE(whole, "view_dtype: ", "rows must begin at multiples of ",
                 Name(dtype), "; x is ", Describe(x), " with strides ",
                 ToString(x.strides()), " from element ", x.storage_offset(),
                 " on");
    shape[last] = shape[last] * from / to;
    strides[last] = 1;
  }
  *out = Tensor::FromStorage(x.storage(), dtype, shape, strides, offset / to);
  out->impl()->is_view = true;
}

}  // namespace proa::inline v0::ops::cpu
