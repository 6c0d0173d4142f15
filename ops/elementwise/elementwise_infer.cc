#include "ops/elementwise/elementwise_infer.h"

#include "ops/infer.h"
#include "tensor/promotion.h"

namespace proa::inline v0::ops::infer {

DType complex_of(const char* op, const Tensor& real, const Tensor& imag) {
  return ComplexType(promote(op, real, imag));
}

}  // namespace proa::inline v0::ops::infer
