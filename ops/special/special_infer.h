// Rules of special functions (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_SPECIAL_SPECIAL_INFER_H_
#define PROA_OPS_SPECIAL_SPECIAL_INFER_H_

#include <cstdint>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// The shape of x; the order of a derivative must not be negative.
Shape polygamma(const char* op, const Tensor& x, int64_t n);
// The shape of x; the order must not be negative.
Shape bessel_order(const char* op, const Tensor& x, int64_t order);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_SPECIAL_SPECIAL_INFER_H_
