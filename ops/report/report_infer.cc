#include "ops/report/report_infer.h"

#include "absl/strings/str_cat.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {

Shape required(const char* op, const Tensor& x, const Tensor& holds) {
  if (holds.dtype() != DType::kBool) {
    ThrowTypeError(
        absl::StrCat(op, ": holds must be bool; it is ", Describe(holds)));
  }
  return x.shape();
}

}  // namespace proa::inline v0::ops::infer
