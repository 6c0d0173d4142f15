// Kernels of RMSProp, Adadelta and Adamax.
#include <algorithm>
#include <cmath>

#include "ops/optimizer/lists.h"
#include "ops/optimizer/rows_cuda.h"
#include "ops/optimizer/running_squares_kernels.h"
#include "ops/optimizer/running_squares_ops.h"
#include "ops/optimizer/step_cuda.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

template <class W>
struct OneFactor {
  W step;
};

struct RmsPropStep {
  static constexpr int kStates = 3;
  double lr_scale, rho, epsilon, momentum, l2;
  bool centered;

  template <class W>
  __device__ OneFactor<W> Prepare(double lr, float, float) const {
    return {static_cast<W>(lr * lr_scale)};
  }
  template <class W>
  __device__ __forceinline__ void Apply(const OneFactor<W>& f, W* p, W g,
                                        W* states) const {
    const W r = static_cast<W>(rho);
    const W gradient = g + static_cast<W>(l2) * *p;
    states[0] = r * states[0] + (W(1) - r) * gradient * gradient;
    W spread = states[0];
    if (centered) {
      states[1] = r * states[1] + (W(1) - r) * gradient;
      spread -= states[1] * states[1];
    }
    W update = f.step * gradient / sqrt(spread + static_cast<W>(epsilon));
    if (momentum != 0.0) {
      update += static_cast<W>(momentum) * states[2];
      states[2] = update;
    }
    *p -= update;
  }
};

struct AdadeltaStep {
  static constexpr int kStates = 2;
  double lr_scale, rho, epsilon, l2;

  template <class W>
  __device__ OneFactor<W> Prepare(double lr, float, float) const {
    return {static_cast<W>(lr * lr_scale)};
  }
  template <class W>
  __device__ __forceinline__ void Apply(const OneFactor<W>& f, W* p, W g,
                                        W* states) const {
    const W r = static_cast<W>(rho), floor = static_cast<W>(epsilon);
    const W gradient = g + static_cast<W>(l2) * *p;
    states[0] = r * states[0] + (W(1) - r) * gradient * gradient;
    const W update = sqrt((states[1] + floor) / (states[0] + floor)) * gradient;
    states[1] = r * states[1] + (W(1) - r) * update * update;
    *p -= f.step * update;
  }
};

struct AdamaxStep {
  static constexpr int kStates = 2;
  double lr_scale, beta1, beta2, epsilon, l2;

  template <class W>
  __device__ OneFactor<W> Prepare(double lr, float power, float) const {
    return {static_cast<W>(lr * lr_scale / (1.0 - static_cast<double>(power)))};
  }
  template <class W>
  __device__ __forceinline__ void Apply(const OneFactor<W>& f, W* p, W g,
                                        W* states) const {
    const W b1 = static_cast<W>(beta1);
    const W gradient = g + static_cast<W>(l2) * *p;
    states[0] = b1 * states[0] + (W(1) - b1) * gradient;
    const W faded = static_cast<W>(beta2) * states[1] + static_cast<W>(epsilon);
    const W size = abs(gradient);
    states[1] = size < faded ? faded : size;  // NaN if the gradient is
    *p -= f.step * states[0] / states[1];
  }
};

constexpr int kMostPowers = 512;
struct Powers {
  float* at[kMostPowers];
};

__global__ void RaisePowers(const __grid_constant__ Powers powers, int n,
                            double beta) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) *powers.at[i] = static_cast<float>(*powers.at[i] * beta);
}

}  // namespace

void RmsProp(const KernelContext& ctx, std::span<const Tensor> params,
             std::span<const Tensor> grads,
             std::span<const Tensor> mean_squares,
             std::span<const Tensor> mean_grads,
             std::span<const Tensor> velocities, const Tensor& lr, double rho,
             double epsilon, double momentum, bool centered, double lr_scale,
             double l2, double grad_scale, std::span<const Tensor> rounded) {
  if (AnyRows(grads)) {
    return StepOnHost(op::Rmsprop::definition, ctx.place, params, grads,
                      mean_squares, mean_grads, velocities, lr, rho, epsilon,
                      momentum, centered, lr_scale, l2, grad_scale, rounded);
  }
  optimizer::CheckGradients("rmsprop_", params, grads);
  optimizer::CheckRounded("rmsprop_", params, rounded);
  optimizer::CheckBeside("rmsprop_", params, "mean_squares", mean_squares);
  optimizer::CheckBeside("rmsprop_", params, "mean_grads", mean_grads);
  optimizer::CheckBeside("rmsprop_", params, "velocities", velocities);
  CheckRate("rmsprop_", lr);
  RunStep(ctx, RmsPropStep{lr_scale, rho, epsilon, momentum, l2, centered},
          params, {grads, grad_scale, rounded},
          {mean_squares, mean_grads, velocities}, lr);
}

void Adadelta(const KernelContext& ctx, std::span<const Tensor> params,
              std::span<const Tensor> grads,
              std::span<const Tensor> squared_grads,
              std::span<const Tensor> squared_updates, const Tensor& lr,
              double rho, double epsilon, double lr_scale, double l2,
              double grad_scale, std::span<const Tensor> rounded) {
  if (AnyRows(grads)) {
    return StepOnHost(op::Adadelta::definition, ctx.place, params, grads,
                      squared_grads, squared_updates, lr, rho, epsilon,
                      lr_scale, l2, grad_scale, rounded);
  }
  optimizer::CheckGradients("adadelta_", params, grads);
  optimizer::CheckRounded("adadelta_", params, rounded);
  optimizer::CheckBeside("adadelta_", params, "squared_grads", squared_grads);
  optimizer::CheckBeside("adadelta_", params, "squared_updates",
                         squared_updates);
  CheckRate("adadelta_", lr);
  RunStep(ctx, AdadeltaStep{lr_scale, rho, epsilon, l2}, params,
          {grads, grad_scale, rounded}, {squared_grads, squared_updates}, lr);
}

void Adamax(const KernelContext& ctx, std::span<const Tensor> params,
            std::span<const Tensor> grads, std::span<const Tensor> moments,
            std::span<const Tensor> norms, std::span<const Tensor> beta1_pows,
            const Tensor& lr, double beta1, double beta2, double epsilon,
            double lr_scale, double l2, double grad_scale,
            std::span<const Tensor> rounded) {
  if (AnyRows(grads)) {
    return StepOnHost(op::Adamax::definition, ctx.place, params, grads, moments,
                      norms, beta1_pows, lr, beta1, beta2, epsilon, lr_scale,
                      l2, grad_scale, rounded);
  }
  optimizer::CheckGradients("adamax_", params, grads);
  optimizer::CheckRounded("adamax_", params, rounded);
  optimizer::CheckBeside("adamax_", params, "moments", moments);
  optimizer::CheckBeside("adamax_", params, "norms", norms);
  optimizer::CheckPowers("adamax_", params, "beta1_pows", beta1_pows, false);
  CheckRate("adamax_", lr);
  RunStep(ctx, AdamaxStep{lr_scale, beta1, beta2, epsilon, l2}, params,
          {grads, grad_scale, rounded}, {moments, norms}, lr, beta1_pows,
          beta1_pows);
  for (size_t from = 0; from < beta1_pows.size(); from += kMostPowers) {
    Powers powers = {};
    const int n = static_cast<int>(
        std::min<size_t>(kMostPowers, beta1_pows.size() - from));
    for (int i = 0; i < n; ++i) {
      powers.at[i] = beta1_pows[from + static_cast<size_t>(i)].data<float>();
    }
    RaisePowers<<<static_cast<uint32_t>(CeilDiv(n, 128)), 128, 0,
                  StreamOf(ctx)>>>(powers, n, beta1);
    CheckLaunch("powers of Adamax");
  }
}

}  // namespace proa::inline v0::ops::cuda
