// Kernels of Adam, AdamW and Adagrad.
#include <cmath>

#include "ops/optimizer/adam_kernels.h"
#include "ops/optimizer/adam_ops.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/rows_cuda.h"
#include "ops/optimizer/step_cuda.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

// `decay`: decoupled, of AdamW.
struct AdamStep {
  static constexpr int kStates = 2;
  double lr_scale, beta1, beta2, epsilon, l2, decay;

  template <class W>
  struct Factors {
    W step, floor, keep;
  };
  template <class W>
  __device__ Factors<W> Prepare(double lr, float power1, float power2) const {
    const double rate = lr * lr_scale;
    const double correction = sqrt(1.0 - static_cast<double>(power2));
    return {
        static_cast<W>(rate * correction / (1.0 - static_cast<double>(power1))),
        static_cast<W>(epsilon * correction),
        static_cast<W>(1.0 - rate * decay)};
  }
  template <class W>
  __device__ __forceinline__ void Apply(const Factors<W>& f, W* p, W g,
                                        W* states) const {
    const W b1 = static_cast<W>(beta1), b2 = static_cast<W>(beta2);
    const W x = *p * f.keep;
    const W gradient = g + static_cast<W>(l2) * x;
    states[0] = b1 * states[0] + (W(1) - b1) * gradient;
    states[1] = b2 * states[1] + (W(1) - b2) * gradient * gradient;
    *p = x - f.step * states[0] / (sqrt(states[1]) + f.floor);
  }
};

struct AdagradStep {
  static constexpr int kStates = 1;
  double lr_scale, epsilon, l2;

  template <class W>
  struct Factors {
    W step;
  };
  template <class W>
  __device__ Factors<W> Prepare(double lr, float, float) const {
    return {static_cast<W>(lr * lr_scale)};
  }
  template <class W>
  __device__ __forceinline__ void Apply(const Factors<W>& f, W* p, W g,
                                        W* states) const {
    const W gradient = g + static_cast<W>(l2) * *p;
    states[0] += gradient * gradient;
    *p -= f.step * gradient / (sqrt(states[0]) + static_cast<W>(epsilon));
  }
};

constexpr int kMostPowers = 512;
struct Powers {
  float* first[kMostPowers];
  float* second[kMostPowers];
};

__global__ void RaisePowers(const __grid_constant__ Powers powers, int n,
                            double beta1, double beta2) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  *powers.first[i] = static_cast<float>(*powers.first[i] * beta1);
  *powers.second[i] = static_cast<float>(*powers.second[i] * beta2);
}

void Raise(const KernelContext& ctx, std::span<const Tensor> first,
           std::span<const Tensor> second, double beta1, double beta2) {
  for (size_t from = 0; from < first.size(); from += kMostPowers) {
    Powers powers = {};
    const int n =
        static_cast<int>(std::min<size_t>(kMostPowers, first.size() - from));
    for (int i = 0; i < n; ++i) {
      powers.first[i] = first[from + static_cast<size_t>(i)].data<float>();
      powers.second[i] = second[from + static_cast<size_t>(i)].data<float>();
    }
    RaisePowers<<<static_cast<uint32_t>(CeilDiv(n, 128)), 128, 0,
                  StreamOf(ctx)>>>(powers, n, beta1, beta2);
    CheckLaunch("powers of Adam");
  }
}

void Step(const KernelContext& ctx, const char* op, const AdamStep& step,
          std::span<const Tensor> params, const Gradients& gradients,
          std::span<const Tensor> moment1s, std::span<const Tensor> moment2s,
          std::span<const Tensor> beta1_pows,
          std::span<const Tensor> beta2_pows, const Tensor& lr) {
  optimizer::CheckGradients(op, params, gradients.grads);
  optimizer::CheckRounded(op, params, gradients.rounded);
  optimizer::CheckBeside(op, params, "moment1s", moment1s);
  optimizer::CheckBeside(op, params, "moment2s", moment2s);
  optimizer::CheckPowers(op, params, "beta1_pows", beta1_pows, false);
  optimizer::CheckPowers(op, params, "beta2_pows", beta2_pows, false);
  CheckRate(op, lr);
  RunStep(ctx, step, params, gradients, {moment1s, moment2s}, lr, beta1_pows,
          beta2_pows);
  Raise(ctx, beta1_pows, beta2_pows, step.beta1, step.beta2);
}

}  // namespace

void Adam(const KernelContext& ctx, std::span<const Tensor> params,
          std::span<const Tensor> grads, std::span<const Tensor> moment1s,
          std::span<const Tensor> moment2s, std::span<const Tensor> beta1_pows,
          std::span<const Tensor> beta2_pows, const Tensor& lr, double beta1,
          double beta2, double epsilon, double lr_scale, double l2,
          bool lazy_mode, double grad_scale, std::span<const Tensor> rounded) {
  if (AnyRows(grads)) {
    return StepOnHost(op::Adam::definition, ctx.place, params, grads, moment1s,
                      moment2s, beta1_pows, beta2_pows, lr, beta1, beta2,
                      epsilon, lr_scale, l2, lazy_mode, grad_scale, rounded);
  }
  Step(ctx, "adam_", {lr_scale, beta1, beta2, epsilon, l2, 0.0}, params,
       {grads, grad_scale, rounded}, moment1s, moment2s, beta1_pows, beta2_pows,
       lr);
}

void AdamW(const KernelContext& ctx, std::span<const Tensor> params,
           std::span<const Tensor> grads, std::span<const Tensor> moment1s,
           std::span<const Tensor> moment2s, std::span<const Tensor> beta1_pows,
           std::span<const Tensor> beta2_pows, const Tensor& lr, double beta1,
           double beta2, double epsilon, double decay, double lr_scale,
           bool lazy_mode, double grad_scale, std::span<const Tensor> rounded) {
  if (AnyRows(grads)) {
    return StepOnHost(op::Adamw::definition, ctx.place, params, grads, moment1s,
                      moment2s, beta1_pows, beta2_pows, lr, beta1, beta2,
                      epsilon, decay, lr_scale, lazy_mode, grad_scale, rounded);
  }
  Step(ctx, "adamw_", {lr_scale, beta1, beta2, epsilon, 0.0, decay}, params,
       {grads, grad_scale, rounded}, moment1s, moment2s, beta1_pows, beta2_pows,
       lr);
}

void Adagrad(const KernelContext& ctx, std::span<const Tensor> params,
             std::span<const Tensor> grads, std::span<const Tensor> moments,
             const Tensor& lr, double epsilon, double lr_scale, double l2,
             double grad_scale, std::span<const Tensor> rounded) {
  if (AnyRows(grads)) {
    return StepOnHost(op::Adagrad::definition, ctx.place, params, grads,
                      moments, lr, epsilon, lr_scale, l2, grad_scale, rounded);
  }
  optimizer::CheckGradients("adagrad_", params, grads);
  optimizer::CheckRounded("adagrad_", params, rounded);
  optimizer::CheckBeside("adagrad_", params, "moments", moments);
  CheckRate("adagrad_", lr);
  RunStep(ctx, AdagradStep{lr_scale, epsilon, l2}, params,
          {grads, grad_scale, rounded}, {moments}, lr);
}

}  // namespace proa::inline v0::ops::cuda
