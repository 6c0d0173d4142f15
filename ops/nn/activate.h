// What follows a convolution or a linear layer, over the elements of its
// result; for sources that are compiled once per instruction set.
#ifndef PROA_OPS_NN_ACTIVATE_H_
#define PROA_OPS_NN_ACTIVATE_H_

#include <string_view>

#include "ops/nn/conv_activation.h"
#include "ops/nn/float_copy.h"
#include "ops/primitives/cpu/loops.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {

// out = activation(y + residual); y or residual may be `out`, residual may be
// undefined.
inline void Activate(std::string_view activation, double alpha, double beta,
                     const Tensor& y, const Tensor& residual, Tensor* out) {
  VisitFloat(out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    VisitActivationOfSum(activation, alpha, beta, y, residual,
                         [&](auto f, const auto&... operands) {
                           RunElementwise<T>(f, out, operands...);
                         });
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_NN_ACTIVATE_H_
