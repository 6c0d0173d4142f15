// Kernel of conv_norm.yaml: cuDNN's convolution, then one pass over its result.
#include "ops/nn/batch_norm_kernels.h"
#include "ops/nn/batch_norm_relu_kernels.h"
#include "ops/nn/conv_kernels.h"
#include "ops/nn/conv_norm_kernels.h"
#include "ops/nn/floats_cuda.h"
#include "ops/nn/images.h"

namespace proa::inline v0::ops::cuda {

void Conv2dBatchNormReluInference(
    const KernelContext& ctx, const Tensor& x, const Tensor& weight,
    const Tensor& mean, const Tensor& variance, const Tensor& bias,
    const Tensor& norm_weight, const Tensor& norm_bias, const Tensor& residual,
    double epsilon, std::span<const int64_t> stride,
    std::span<const int64_t> padding, std::span<const int64_t> dilation,
    int64_t groups, std::string_view data_format,
    std::string_view padding_algorithm, Tensor* out) {
  if (out->numel() == 0) return;
  Tensor y = ChannelsLastOutput(*out, data_format);
  Conv(ctx, ChannelsLastInput(x, data_format), weight, bias, stride, padding,
       dilation, groups, "NHWC", padding_algorithm, &y);
  if (residual.defined()) {
    const Tensor added =
        FloatsOf(ChannelsLastInput(residual, data_format), out->dtype());
    BatchNormAddReluInference(ctx, y, added, mean, variance, norm_weight,
                              norm_bias, epsilon, "NHWC", &y);
  } else {
    BatchNormReluInference(ctx, y, mean, variance, norm_weight, norm_bias,
                           epsilon, "NHWC", &y);
  }
}

}  // namespace proa::inline v0::ops::cuda
