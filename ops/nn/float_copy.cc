#include "ops/nn/float_copy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "ops/primitives/cpu/convert.h"
#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

void RefuseNotFloat(DType t) {
  ThrowTypeError(absl::StrCat("dtype must be a floating point type, not ",
                              std::string(Name(t))));
}

void FloatCopyInto(const Tensor& from, const Tensor& to) {
  const Tensor source = Contiguous(from);
  cpu::ConvertInParallel(source.dtype(), source.raw_data(), to.dtype(),
                         to.raw_data(), source.numel());
}

Tensor FloatCopy(const Tensor& t, DType dtype) {
  if (!t.defined()) return t;
  if (t.dtype() == dtype) return Contiguous(t);
  Tensor out = Tensor::Empty(t.shape(), dtype, t.place());
  FloatCopyInto(t, out);
  return out;
}

}  // namespace proa::inline v0::ops
