// Composite ops of complex.yaml.
#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/complex_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/elementwise/unary_ops.h"

namespace proa::inline v0::ops {

Tensor Conj(const Tensor& x) {
  return IsComplex(x.dtype()) ? conj_complex(x) : x;
}

Tensor Real(const Tensor& x) {
  return IsComplex(x.dtype()) ? real_of_complex(x) : x;
}

// angle = atan2(b, a) of x = a + ib: d angle = (a db - b da) / |x|^2, so the
// gradient is g (-b + ia) / |x|^2.
Tensor AngleBackward(const Tensor& grad_out, const Tensor& x) {
  if (!IsComplex(x.dtype())) return full_like(x, Scalar(0.0));
  const Tensor a = real_of_complex(x), b = imag(x);
  const Tensor square_modulus = add(square(a), square(b));
  const Tensor zero = full_like(a, Scalar(0.0));
  const Tensor factor = where(equal(square_modulus, zero), zero,
                              divide(grad_out, square_modulus));
  return complex(multiply(factor, neg(b)), multiply(factor, a));
}

}  // namespace proa::inline v0::ops
