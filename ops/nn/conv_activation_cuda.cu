// Kernel of conv_activation.yaml: cuDNN's convolution, then one pass over its
// result.
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/nn/conv_activation.h"
#include "ops/nn/conv_activation_kernels.h"
#include "ops/nn/conv_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/primitives/cuda/elementwise.cuh"
#include "tensor/memory_order.h"

namespace proa::inline v0::ops::cuda {

void Conv2dActivation(const KernelContext& ctx, const Tensor& x,
                      const Tensor& weight, const Tensor& bias,
                      const Tensor& residual, const Tensor& scale,
                      std::string_view activation, double alpha, double beta,
                      std::span<const int64_t> stride,
                      std::span<const int64_t> padding,
                      std::span<const int64_t> dilation, int64_t groups,
                      std::string_view data_format,
                      std::string_view padding_algorithm, Tensor* out) {
  // What is added in its own memory is convolved into another.
  Tensor y = out->is_same(residual) ? EmptyInOrder(out->shape(), out->dtype(),
                                                   out->place(), OrderOf(*out))
                                    : *out;
  const Tensor scaled =
      scale.defined()
          ? ops::cast(
                ops::multiply(weight, scale.AsStrided({scale.numel(), 1, 1, 1},
                                                      {1, 0, 0, 0}, 0)),
                weight.dtype())
          : weight;
  Conv(ctx, x, scaled, bias, stride, padding, dilation, groups, data_format,
       padding_algorithm, &y);
  if (out->numel() == 0) return;
  VisitFloat(out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    VisitActivationOfSum(activation, alpha, beta, y, residual,
                         [&](auto f, const auto&... operands) {
                           RunElementwise<T>(ctx, f, out, operands...);
                         });
  });
}

}  // namespace proa::inline v0::ops::cuda
