// Kernels of SGD and momentum, compiled once per instruction set.
#include "ops/optimizer/elements.h"
#include "ops/optimizer/gradient_descent_kernels.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/step.h"

namespace proa::inline v0::ops::PROA_ISA {

using optimizer::StepRows;
using optimizer::StepWork;

void Sgd(const KernelContext&, std::span<const Tensor> params,
         std::span<const Tensor> grads, const Tensor& lr, double lr_scale,
         double l2, double grad_scale, std::span<const Tensor> rounded) {
  const double rate = optimizer::ReadRate("sgd_", lr) * lr_scale;
  const StepWork work("sgd_", params, {grads, grad_scale, rounded},
                      l2 == 0.0 ? StepRows::kHeld : StepRows::kAll);
  RunStep(work, [&]<typename T>(size_t i, int64_t begin, int64_t n,
                                const T* __restrict__ g) {
    using W = Wide<T>;
    T* __restrict__ p = params[i].data<T>() + begin;
    const W step = static_cast<W>(rate), decay = static_cast<W>(l2);
    for (int64_t j = 0; j < n; ++j) {
      const W v = static_cast<W>(p[j]);
      p[j] = static_cast<T>(v - step * (static_cast<W>(g[j]) + decay * v));
    }
  });
}

void Momentum(const KernelContext&, std::span<const Tensor> params,
              std::span<const Tensor> grads, std::span<const Tensor> velocities,
              const Tensor& lr, double momentum, bool use_nesterov,
              double lr_scale, double l2, double grad_scale,
              std::span<const Tensor> rounded) {
  optimizer::CheckBeside("momentum_", params, "velocities", velocities);
  const double rate = optimizer::ReadRate("momentum_", lr) * lr_scale;
  const StepWork work("momentum_", params, {grads, grad_scale, rounded},
                      StepRows::kAll);
  RunStep(work, [&]<typename T>(size_t i, int64_t begin, int64_t n,
                                const T* __restrict__ g) {
    using W = Wide<T>;
    T* __restrict__ p = params[i].data<T>() + begin;
    T* __restrict__ v = velocities[i].data<T>() + begin;
    const W step = static_cast<W>(rate), decay = static_cast<W>(l2);
    const W mu = static_cast<W>(momentum);
    // step * (g' + mu * v) or step * v: the same loop with other factors.
    const W of_gradient = use_nesterov ? step : W(0);
    const W of_velocity = use_nesterov ? step * mu : step;
    for (int64_t j = 0; j < n; ++j) {
      const W x = static_cast<W>(p[j]);
      const W gradient = static_cast<W>(g[j]) + decay * x;
      const W velocity = mu * static_cast<W>(v[j]) + gradient;
      v[j] = static_cast<T>(velocity);
      p[j] =
          static_cast<T>(x - (of_gradient * gradient + of_velocity * velocity));
    }
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
