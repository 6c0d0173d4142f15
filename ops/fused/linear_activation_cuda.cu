// Kernel of linear_activation.yaml: cuBLAS's product, then one pass over it.
#include "ops/fused/linear_activation_kernels.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/nn/conv_activation.h"
#include "ops/nn/float_copy.h"
#include "ops/primitives/cuda/elementwise.cuh"
#include "tensor/copy.h"

namespace proa::inline v0::ops::cuda {

void LinearActivation(const KernelContext& ctx, const Tensor& x,
                      const Tensor& weight, const Tensor& bias,
                      const Tensor& residual, std::string_view activation,
                      double alpha, double beta, Tensor* out) {
  if (out->numel() == 0) return;
  const Tensor y = ops::linear(x, weight, bias);
  VisitFloat(out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool ran =
        VisitActivationOfSum(activation, alpha, beta, y, residual,
                             [&](auto f, const auto&... operands) {
                               RunElementwise<T>(ctx, f, out, operands...);
                             });
    if (!ran) CopyInto(y, *out);
  });
}

}  // namespace proa::inline v0::ops::cuda
