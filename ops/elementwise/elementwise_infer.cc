#include "ops/elementwise/elementwise_infer.h"

#include "ops/infer.h"
#include "tensor/error.h"
#include "tensor/promotion.h"

namespace proa::inline v0::ops::infer {

Shape gradient_of(const char* op, const Tensor& grad_out, const Tensor& of) {
  Shape out = of.shape();
  if (grad_out.shape() == out) return out;
  bool same = grad_out.rank() == of.rank();
  for (int d = 0; same && d < out.rank(); ++d) {
    const int64_t n = grad_out.size(d);
    same = n == out[d] || IsUnknown(n) || IsUnknown(out[d]);
    if (IsUnknown(out[d])) out[d] = n;
  }
  PROA_REQUIRE(same, op, ": the gradient is ", Describe(grad_out),
               ", what it is the gradient of ", Describe(of),
               "; their shapes must be the same");
  return out;
}

DType complex_of(const char* op, const Tensor& real, const Tensor& imag) {
  return ComplexType(promote(op, real, imag));
}

DType promote_limited(const char*, const Tensor& x,
                      const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max) {
  const bool fraction = (min && min->is_float()) || (max && max->is_float());
  return fraction && IsInteger(x.dtype()) ? DType::kFloat32 : x.dtype();
}

}  // namespace proa::inline v0::ops::infer
