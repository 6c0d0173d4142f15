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
// Of a query [N, L, heads, D], keys [N, P, heads, D] and [N, S, heads, D] and
// values [N, P, heads, E] and [N, S, heads, E]; mask broadcasts to [N, heads,
// L, P + S].
Shape attention_cached(const char* op, const Tensor& query,
                       const Tensor& past_key, const Tensor& key,
                       const Tensor& past_value, const Tensor& value,
                       const Tensor& mask);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_FUSED_FUSED_INFER_H_
