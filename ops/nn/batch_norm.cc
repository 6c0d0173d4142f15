// Gradients of batch normalization as formulas over ops, for all outputs and
// orders.
//
// With m = mean, r = inv_std, xh = (x - m) r, w = weight and A(.) the mean over
// a channel of n elements, batch_norm_input_grad is
//   dx = w r (g - A(g) - xh A(g xh)) + (shift + slope xh) / n.
#include "ops/creation/full_ops.h"
#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/nn/batch_norm_ops.h"
#include "ops/nn/batch_norm_relu_ops.h"
#include "ops/nn/conv_ops.h"
#include "ops/nn/window.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

int ChannelDim(const Tensor& x, std::string_view data_format) {
  PROA_REQUIRE(x.rank() >= 2, "batch_norm: x must have at least 2 dims; it is ",
               Describe(x));
  return ChannelDimOf(x.rank(), data_format);
}

DimVector OtherDims(const Tensor& x, std::string_view data_format) {
  DimVector axes;
  for (int d = 0; d < x.rank(); ++d)
    if (d != ChannelDim(x, data_format)) axes.push_back(d);
  return axes;
}

// [C] to a shape that broadcasts over x.
Tensor OverChannels(const Tensor& v, const Tensor& x,
                    std::string_view data_format) {
  DimVector sizes(x.rank(), 1);
  sizes[ChannelDim(x, data_format)] = -1;
  return reshape(
      v, IntArray(std::span<const int64_t>(sizes.data(), sizes.size())));
}

// dL/dxh for L = sum(G dx): -(w r G A(g xh) + g A(w r G xh)) + G slope / n.
Tensor GradOfNormalized(const Tensor& grad, const Tensor& grad_out,
                        const Tensor& x, const Tensor& weight,
                        const Tensor& mean, const Tensor& inv_std,
                        const Tensor& slope, std::string_view data_format) {
  const Tensor xh = normalize_channels(x, mean, inv_std, data_format);
  const Tensor factor = weight.defined() ? multiply(inv_std, weight) : inv_std;
  const auto over = [&](const Tensor& v) {
    return OverChannels(v, x, data_format);
  };
  const Tensor of_g = channel_mean(multiply(grad_out, xh), data_format);
  const Tensor of_grad = channel_mean(multiply(grad, xh), data_format);
  Tensor out = neg(add(multiply(grad, over(multiply(factor, of_g))),
                       multiply(grad_out, over(multiply(factor, of_grad)))));
  if (slope.defined()) {
    const Tensor count =
        maximum(channel_sum(full_like(x, Scalar(1.0)), data_format),
                full_like(slope, Scalar(1.0)));
    out = add(out, multiply(grad, over(divide(slope, count))));
  }
  return out;
}

// What the gradients of the statistics add to that of x; see batch_norm_grad.
// mean depends on x by 1 / n, the variance by 2 (x - m) / n, and
// inv_std = (variance + epsilon)^(-1/2) by -1/2 r^3 times that.
struct ByStatistics {
  Tensor shift, slope;
};

ByStatistics OfStatistics(const Tensor& grad_running_mean,
                          const Tensor& grad_running_var,
                          const Tensor& grad_mean, const Tensor& grad_inv_std,
                          const Tensor& inv_std, double momentum) {
  const double fresh = 1.0 - momentum;
  return {
      add(grad_mean, scale(grad_running_mean, Scalar(fresh))),
      subtract(divide(scale(grad_running_var, Scalar(2.0 * fresh)), inv_std),
               multiply(square(inv_std), grad_inv_std))};
}

}  // namespace

Tensor ChannelMean(const Tensor& x, std::string_view data_format) {
  if (x.shape().known() && x.shape().numel() > 0) {
    const DimVector axes = OtherDims(x, data_format);
    return mean(x, std::span<const int64_t>(axes.data(), axes.size()));
  }
  const Tensor total = channel_sum(x, data_format);
  // Divided, so that integers give floats as elsewhere.
  if (x.shape().known()) return divide(total, full_like(total, Scalar(1.0)));
  // In a program of unknown dims x may turn out to be empty.
  return divide(total,
                maximum(channel_sum(full_like(x, Scalar(1.0)), data_format),
                        full_like(total, Scalar(1.0))));
}

Tensor NormalizeChannels(const Tensor& x, const Tensor& mean,
                         const Tensor& inv_std, std::string_view data_format) {
  return multiply(subtract(x, OverChannels(mean, x, data_format)),
                  OverChannels(inv_std, x, data_format));
}

std::tuple<Tensor, Tensor, Tensor> BatchNormGrads(
    const Tensor& grad_out, const Tensor& grad_running_mean,
    const Tensor& grad_running_var, const Tensor& grad_mean,
    const Tensor& grad_inv_std, const Tensor& x, const Tensor& weight,
    const Tensor& mean, const Tensor& inv_std, double momentum,
    std::string_view data_format) {
  const auto [shift, slope] =
      OfStatistics(grad_running_mean, grad_running_var, grad_mean, grad_inv_std,
                   inv_std, momentum);
  return batch_norm_grad(grad_out, x, weight, mean, inv_std, shift, slope,
                         data_format);
}

std::tuple<Tensor, Tensor, Tensor> BatchNormReluGrads(
    const Tensor& grad_out, const Tensor& grad_running_mean,
    const Tensor& grad_running_var, const Tensor& grad_mean,
    const Tensor& grad_inv_std, const Tensor& x, const Tensor& weight,
    const Tensor& bias, const Tensor& mean, const Tensor& inv_std,
    double momentum, std::string_view data_format) {
  const auto [shift, slope] =
      OfStatistics(grad_running_mean, grad_running_var, grad_mean, grad_inv_std,
                   inv_std, momentum);
  return batch_norm_relu_grad(grad_out, x, weight, bias, mean, inv_std, shift,
                              slope, data_format);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> BatchNormReluGradGrads(
    const Tensor& grad_x, const Tensor& grad_weight, const Tensor& grad_bias,
    const Tensor& grad_out, const Tensor& x, const Tensor& weight,
    const Tensor& bias, const Tensor& mean, const Tensor& inv_std,
    const Tensor& slope, std::string_view data_format) {
  const Tensor y = batch_norm_inference(x, mean, reciprocal(square(inv_std)),
                                        weight, bias, 0.0, data_format);
  const Tensor g = relu_backward(grad_out, y);
  const Tensor none, zeros = full_like(mean, Scalar(0.0));
  const Tensor by_weight = multiply(grad_weight, inv_std);
  const Tensor of_g = relu_backward(
      add(add(batch_norm_input_grad(grad_x, x, weight, mean, inv_std, none,
                                    none, data_format),
              normalize_channels(x, mean, by_weight, data_format)),
          OverChannels(grad_bias, x, data_format)),
      y);
  const Tensor by_x = batch_norm_grad_grad_x(grad_x, g, x, weight, mean,
                                             inv_std, slope, data_format);
  const Tensor of_x =
      add(by_x, normalize_channels(g, zeros, by_weight, data_format));
  const Tensor of_weight = channel_sum(
      multiply(grad_x, batch_norm_input_grad(g, x, none, mean, inv_std, none,
                                             none, data_format)),
      data_format);
  const Tensor of_mean =
      neg(add(channel_sum(by_x, data_format),
              multiply(by_weight, channel_sum(g, data_format))));
  const Tensor of_inv_std = add(
      batch_norm_grad_grad_inv_std(grad_x, g, x, weight, mean, inv_std, slope,
                                   data_format),
      multiply(grad_weight,
               batch_norm_weight_grad(
                   g, x, mean, full_like(inv_std, Scalar(1.0)), data_format)));
  return {of_g, of_x, of_weight, of_mean, of_inv_std};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> BatchNormAddReluGrads(
    const Tensor& grad_out, const Tensor& grad_running_mean,
    const Tensor& grad_running_var, const Tensor& grad_mean,
    const Tensor& grad_inv_std, const Tensor& y, const Tensor& x,
    const Tensor& weight, const Tensor& mean, const Tensor& inv_std,
    double momentum, std::string_view data_format) {
  const auto [shift, slope] =
      OfStatistics(grad_running_mean, grad_running_var, grad_mean, grad_inv_std,
                   inv_std, momentum);
  return batch_norm_add_relu_grad(grad_out, y, x, weight, mean, inv_std, shift,
                                  slope, data_format);
}

Tensor BatchNormGradGradX(const Tensor& grad, const Tensor& grad_out,
                          const Tensor& x, const Tensor& weight,
                          const Tensor& mean, const Tensor& inv_std,
                          const Tensor& slope, std::string_view data_format) {
  return multiply(GradOfNormalized(grad, grad_out, x, weight, mean, inv_std,
                                   slope, data_format),
                  OverChannels(inv_std, x, data_format));
}

// Through xh, and through the factor w r.
Tensor BatchNormGradGradInvStd(const Tensor& grad, const Tensor& grad_out,
                               const Tensor& x, const Tensor& weight,
                               const Tensor& mean, const Tensor& inv_std,
                               const Tensor& slope,
                               std::string_view data_format) {
  const Tensor by_xh =
      channel_sum(multiply(GradOfNormalized(grad, grad_out, x, weight, mean,
                                            inv_std, slope, data_format),
                           subtract(x, OverChannels(mean, x, data_format))),
                  data_format);
  const Tensor dx = batch_norm_input_grad(grad_out, x, weight, mean, inv_std,
                                          Tensor(), Tensor(), data_format);
  const Tensor by_factor =
      divide(channel_sum(multiply(grad, dx), data_format), inv_std);
  return add(by_xh, by_factor);
}

}  // namespace proa::inline v0::ops
