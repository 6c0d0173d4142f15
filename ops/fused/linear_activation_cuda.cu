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
    const bool found = VisitActivation(activation, alpha, beta, [&](auto f) {
      if (residual.defined()) {
        RunElementwise<T>(ctx, formula::OfSum<decltype(f)>{f}, out, y,
                          residual);
      } else {
        RunElementwise<T>(ctx, f, out, y);
      }
    });
    if (found) return;
    if (residual.defined()) {
      RunElementwise<T>(ctx, formula::Sum{}, out, y, residual);
    } else {
      CopyInto(y, *out);
    }
  });
}

}  // namespace proa::inline v0::ops::cuda
