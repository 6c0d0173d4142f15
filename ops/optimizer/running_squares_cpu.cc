// Kernels of RMSProp, Adadelta and Adamax, compiled once per instruction set.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/optimizer/elements.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/running_squares_kernels.h"
#include "ops/optimizer/step.h"

namespace proa::inline v0::ops::PROA_ISA {

using optimizer::StepRows;
using optimizer::StepWork;

void RmsProp(const KernelContext&, std::span<const Tensor> params,
             std::span<const Tensor> grads,
             std::span<const Tensor> mean_squares,
             std::span<const Tensor> mean_grads,
             std::span<const Tensor> velocities, const Tensor& lr, double rho,
             double epsilon, double momentum, bool centered, double lr_scale,
             double l2, double grad_scale, std::span<const Tensor> rounded) {
  const double rate = optimizer::ReadRate("rmsprop_", lr) * lr_scale;
  optimizer::CheckBeside("rmsprop_", params, "mean_squares", mean_squares);
  optimizer::CheckBeside("rmsprop_", params, "mean_grads", mean_grads);
  optimizer::CheckBeside("rmsprop_", params, "velocities", velocities);
  const StepWork work("rmsprop_", params, {grads, grad_scale, rounded},
                      StepRows::kAll);
  RunStep(work, [&]<typename T>(size_t i, int64_t begin, int64_t n,
                                const T* __restrict__ g) {
    using W = Wide<T>;
    T* __restrict__ p = params[i].data<T>() + begin;
    T* __restrict__ s = mean_squares[i].data<T>() + begin;
    T* __restrict__ m = mean_grads[i].data<T>() + begin;
    T* __restrict__ v = velocities[i].data<T>() + begin;
    const W step = static_cast<W>(rate), decay = static_cast<W>(l2);
    const W r = static_cast<W>(rho), floor = static_cast<W>(epsilon);
    const W mu = static_cast<W>(momentum);
    for (int64_t j = 0; j < n; ++j) {
      const W x = static_cast<W>(p[j]);
      const W gradient = static_cast<W>(g[j]) + decay * x;
      const W square =
          r * static_cast<W>(s[j]) + (W(1) - r) * gradient * gradient;
      s[j] = static_cast<T>(square);
      W spread = square;
      if (centered) {
        const W mean = r * static_cast<W>(m[j]) + (W(1) - r) * gradient;
        m[j] = static_cast<T>(mean);
        spread -= mean * mean;
      }
      W update = step * gradient / std::sqrt(spread + floor);
      if (momentum != 0.0) {
        update += mu * static_cast<W>(v[j]);
        v[j] = static_cast<T>(update);
      }
      p[j] = static_cast<T>(x - update);
    }
  });
}

void Adadelta(const KernelContext&, std::span<const Tensor> params,
              std::span<const Tensor> grads,
              std::span<const Tensor> squared_grads,
              std::span<const Tensor> squared_updates, const Tensor& lr,
              double rho, double epsilon, double lr_scale, double l2,
              double grad_scale, std::span<const Tensor> rounded) {
  const double rate = optimizer::ReadRate("adadelta_", lr) * lr_scale;
  optimizer::CheckBeside("adadelta_", params, "squared_grads", squared_grads);
  optimizer::CheckBeside("adadelta_", params, "squared_updates",
                         squared_updates);
  const StepWork work("adadelta_", params, {grads, grad_scale, rounded},
                      StepRows::kAll);
  RunStep(work, [&]<typename T>(size_t i, int64_t begin, int64_t n,
                                const T* __restrict__ g) {
    using W = Wide<T>;
    T* __restrict__ p = params[i].data<T>() + begin;
    T* __restrict__ s = squared_grads[i].data<T>() + begin;
    T* __restrict__ u = squared_updates[i].data<T>() + begin;
    const W step = static_cast<W>(rate), decay = static_cast<W>(l2);
    const W r = static_cast<W>(rho), floor = static_cast<W>(epsilon);
    for (int64_t j = 0; j < n; ++j) {
      const W x = static_cast<W>(p[j]), before = static_cast<W>(u[j]);
      const W gradient = static_cast<W>(g[j]) + decay * x;
      const W square =
          r * static_cast<W>(s[j]) + (W(1) - r) * gradient * gradient;
      const W update =
          std::sqrt((before + floor) / (square + floor)) * gradient;
      s[j] = static_cast<T>(square);
      u[j] = static_cast<T>(r * before + (W(1) - r) * update * update);
      p[j] = static_cast<T>(x - step * update);
    }
  });
}

void Adamax(const KernelContext&, std::span<const Tensor> params,
            std::span<const Tensor> grads, std::span<const Tensor> moments,
            std::span<const Tensor> norms, std::span<const Tensor> beta1_pows,
            const Tensor& lr, double beta1, double beta2, double epsilon,
            double lr_scale, double l2, double grad_scale,
            std::span<const Tensor> rounded) {
  const double rate = optimizer::ReadRate("adamax_", lr) * lr_scale;
  optimizer::CheckBeside("adamax_", params, "moments", moments);
  optimizer::CheckBeside("adamax_", params, "norms", norms);
  optimizer::CheckPowers("adamax_", params, "beta1_pows", beta1_pows, true);
  const StepWork work("adamax_", params, {grads, grad_scale, rounded},
                      StepRows::kAll);
  std::vector<double> rates;
  for (const Tensor& power : beta1_pows) {
    rates.push_back(rate / (1.0 - optimizer::PowerOf(power)));
  }
  RunStep(work, [&]<typename T>(size_t i, int64_t begin, int64_t n,
                                const T* __restrict__ g) {
    using W = Wide<T>;
    T* __restrict__ p = params[i].data<T>() + begin;
    T* __restrict__ m = moments[i].data<T>() + begin;
    T* __restrict__ norm = norms[i].data<T>() + begin;
    const W step = static_cast<W>(rates[i]), decay = static_cast<W>(l2);
    const W b1 = static_cast<W>(beta1), b2 = static_cast<W>(beta2);
    const W floor = static_cast<W>(epsilon);
    for (int64_t j = 0; j < n; ++j) {
      const W x = static_cast<W>(p[j]);
      const W gradient = static_cast<W>(g[j]) + decay * x;
      const W moment = b1 * static_cast<W>(m[j]) + (W(1) - b1) * gradient;
      const W largest =
          std::max(std::abs(gradient), b2 * static_cast<W>(norm[j]) + floor);
      m[j] = static_cast<T>(moment);
      norm[j] = static_cast<T>(largest);
      p[j] = static_cast<T>(x - step * moment / largest);
    }
  });
  for (const Tensor& power : beta1_pows) optimizer::RaisePower(power, beta1);
}

}  // namespace proa::inline v0::ops::PROA_ISA
