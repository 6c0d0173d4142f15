#include "ops/int_array.h"

#include "ops/symbolic_view.h"
#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0 {

IntArray::IntArray(const Tensor& t) {
  if (!t.defined()) ThrowTypeError("a list of sizes is None");
  if (t.dtype() != DType::kInt32 && t.dtype() != DType::kInt64) {
    ThrowTypeError(absl::StrCat("sizes must be int32 or int64; the tensor is ",
                                Describe(t)));
  }
  PROA_REQUIRE(t.rank() <= 1, "sizes must be a 1-D tensor; it is ",
               Describe(t));
  if (t.is_symbolic()) {
    PROA_REQUIRE(t.shape().known(),
                 "a tensor of sizes must have a known length; it is ",
                 Describe(t));
    values_.assign(t.numel(), kUnknownDim);
    if (const auto known = InstalledSymbolicViews().known_sizes) {
      known(t, {values_.data(), values_.size()});
    }
    tensor_ = t;
    return;
  }
  const Tensor host =
      Contiguous(t.place().is_cpu() ? t : CopyTo(t, Place{}, true));
  values_.resize(host.numel());
  for (int64_t i = 0; i < host.numel(); ++i) {
    values_[i] = host.dtype() == DType::kInt32 ? host.data<int32_t>()[i]
                                               : host.data<int64_t>()[i];
  }
}

}  // namespace proa::inline v0
