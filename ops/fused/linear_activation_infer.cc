// Shapes of linear_activation.yaml, and what it refuses.
#include <string>

#include "ops/fused/fused_infer.h"
#include "ops/infer.h"
#include "ops/linalg/linalg_infer.h"
#include "ops/nn/conv_activation.h"
#include "ops/nn/infer_checks.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {

Shape linear_activation(const char* op, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, const Tensor& residual,
                        std::string_view activation) {
  const Shape out = linear(op, x, weight, bias);
  RequireResidual(op, residual, out);
  // A linear layer of integers is none that this may stand for.
  if (const DType t = promote(op, x, weight); !IsFloat(t)) {
    ThrowTypeError(std::string(op) + ": x and weight must be floating; they " +
                   "are of " + std::string(Name(t)));
  }
  PROA_REQUIRE(IsActivation(activation), op, ": activation must be ",
               kActivationNames, "; it is '", activation, "'");
  return out;
}

}  // namespace proa::inline v0::ops::infer
