// Shape rules of fused ops (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_FUSED_FUSED_INFER_H_
#define PROA_OPS_FUSED_FUSED_INFER_H_

#include <string_view>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

Shape linear_activation(const char* op, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, const Tensor& residual,
                        std::string_view activation);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_FUSED_FUSED_INFER_H_
