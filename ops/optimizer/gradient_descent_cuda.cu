// Kernels of SGD and momentum.
#include "ops/optimizer/gradient_descent_kernels.h"
#include "ops/optimizer/gradient_descent_ops.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/rows_cuda.h"
#include "ops/optimizer/step_cuda.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

struct SgdStep {
  static constexpr int kStates = 0;
  double lr_scale, l2;

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
                                        W*) const {
    *p -= f.step * (g + static_cast<W>(l2) * *p);
  }
};

// step * (g' + mu * v) or step * v.
struct MomentumStep {
  static constexpr int kStates = 1;
  double lr_scale, momentum, l2;
  bool nesterov;

  template <class W>
  struct Factors {
    W of_gradient, of_velocity;
  };
  template <class W>
  __device__ Factors<W> Prepare(double lr, float, float) const {
    const W step = static_cast<W>(lr * lr_scale);
    return {nesterov ? step : W(0),
            nesterov ? step * static_cast<W>(momentum) : step};
  }
  template <class W>
  __device__ __forceinline__ void Apply(const Factors<W>& f, W* p, W g,
                                        W* states) const {
    const W gradient = g + static_cast<W>(l2) * *p;
    states[0] = static_cast<W>(momentum) * states[0] + gradient;
    *p -= f.of_gradient * gradient + f.of_velocity * states[0];
  }
};

}  // namespace

void Sgd(const KernelContext& ctx, std::span<const Tensor> params,
         std::span<const Tensor> grads, const Tensor& lr, double lr_scale,
         double l2, double grad_scale, std::span<const Tensor> rounded) {
  if (AnyRows(grads)) {
    return StepOnHost(op::Sgd::definition, ctx.place, params, grads, lr,
                      lr_scale, l2, grad_scale, rounded);
  }
  optimizer::CheckGradients("sgd_", params, grads);
  optimizer::CheckRounded("sgd_", params, rounded);
  CheckRate("sgd_", lr);
  RunStep(ctx, SgdStep{lr_scale, l2}, params, {grads, grad_scale, rounded}, {},
          lr);
}

void Momentum(const KernelContext& ctx, std::span<const Tensor> params,
              std::span<const Tensor> grads, std::span<const Tensor> velocities,
              const Tensor& lr, double momentum, bool use_nesterov,
              double lr_scale, double l2, double grad_scale,
              std::span<const Tensor> rounded) {
  if (AnyRows(grads)) {
    return StepOnHost(op::Momentum::definition, ctx.place, params, grads,
                      velocities, lr, momentum, use_nesterov, lr_scale, l2,
                      grad_scale, rounded);
  }
  optimizer::CheckGradients("momentum_", params, grads);
  optimizer::CheckBeside("momentum_", params, "velocities", velocities);
  optimizer::CheckRounded("momentum_", params, rounded);
  CheckRate("momentum_", lr);
  RunStep(ctx, MomentumStep{lr_scale, momentum, l2, use_nesterov}, params,
          {grads, grad_scale, rounded}, {velocities}, lr);
}

}  // namespace proa::inline v0::ops::cuda
