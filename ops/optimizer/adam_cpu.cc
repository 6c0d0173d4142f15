// Kernels of Adam, AdamW and Adagrad, compiled once per instruction set.
#include <cmath>
#include <vector>

#include "ops/optimizer/adam_kernels.h"
#include "ops/optimizer/elements.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/step.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using optimizer::StepRows;
using optimizer::StepWork;

struct AdamLists {
  std::span<const Tensor> params, grads, moment1s, moment2s, beta1_pows,
      beta2_pows, rounded;
  double grad_scale;
};

// What is the same for all parameters. `keep` is what decoupled decay leaves.
struct AdamNumbers {
  double rate, beta1, beta2, epsilon, l2, keep;
  StepRows rows;
};

// The bias corrections of one parameter: factor of the step, and epsilon.
struct AdamFactors {
  double step, floor;
};

void Check(const char* op, const AdamLists& l) {
  optimizer::CheckBeside(op, l.params, "moment1s", l.moment1s);
  optimizer::CheckBeside(op, l.params, "moment2s", l.moment2s);
  optimizer::CheckPowers(op, l.params, "beta1_pows", l.beta1_pows, true);
  optimizer::CheckPowers(op, l.params, "beta2_pows", l.beta2_pows, true);
}

std::vector<AdamFactors> Factors(const AdamLists& l, const AdamNumbers& n) {
  std::vector<AdamFactors> out;
  out.reserve(l.params.size());
  for (size_t i = 0; i < l.params.size(); ++i) {
    const double power1 = optimizer::PowerOf(l.beta1_pows[i]);
    const double power2 = optimizer::PowerOf(l.beta2_pows[i]);
    const double correction = std::sqrt(1.0 - power2);
    out.push_back(
        {n.rate * correction / (1.0 - power1), n.epsilon * correction});
  }
  return out;
}

void Step(const char* op, const AdamLists& l, const AdamNumbers& n) {
  const StepWork work(op, l.params, {l.grads, l.grad_scale, l.rounded}, n.rows);
  Check(op, l);
  const std::vector<AdamFactors> factors = Factors(l, n);
  RunStep(work, [&]<typename T>(size_t i, int64_t begin, int64_t count,
                                const T* __restrict__ g) {
    using W = Wide<T>;
    const W step = static_cast<W>(factors[i].step);
    const W floor = static_cast<W>(factors[i].floor);
    const W b1 = static_cast<W>(n.beta1), b2 = static_cast<W>(n.beta2);
    const W l2 = static_cast<W>(n.l2), keep = static_cast<W>(n.keep);
    T* __restrict__ p = l.params[i].data<T>() + begin;
    T* __restrict__ m1 = l.moment1s[i].data<T>() + begin;
    T* __restrict__ m2 = l.moment2s[i].data<T>() + begin;
    for (int64_t j = 0; j < count; ++j) {
      const W x = static_cast<W>(p[j]) * keep;
      const W gradient = static_cast<W>(g[j]) + l2 * x;
      const W first = b1 * static_cast<W>(m1[j]) + (W(1) - b1) * gradient;
      const W second =
          b2 * static_cast<W>(m2[j]) + (W(1) - b2) * gradient * gradient;
      m1[j] = static_cast<T>(first);
      m2[j] = static_cast<T>(second);
      p[j] = static_cast<T>(x - step * first / (std::sqrt(second) + floor));
    }
  });
  for (size_t i = 0; i < l.params.size(); ++i) {
    optimizer::RaisePower(l.beta1_pows[i], n.beta1);
    optimizer::RaisePower(l.beta2_pows[i], n.beta2);
  }
}

// Decay of any kind changes rows that have no gradient.
StepRows RowsFor(bool lazy, double l2) {
  return lazy && l2 == 0.0 ? StepRows::kHeld : StepRows::kAll;
}

}  // namespace

void Adam(const KernelContext&, std::span<const Tensor> params,
          std::span<const Tensor> grads, std::span<const Tensor> moment1s,
          std::span<const Tensor> moment2s, std::span<const Tensor> beta1_pows,
          std::span<const Tensor> beta2_pows, const Tensor& lr, double beta1,
          double beta2, double epsilon, double lr_scale, double l2,
          bool lazy_mode, double grad_scale, std::span<const Tensor> rounded) {
  const double rate = optimizer::ReadRate("adam_", lr) * lr_scale;
  Step("adam_",
       {params, grads, moment1s, moment2s, beta1_pows, beta2_pows, rounded,
        grad_scale},
       {rate, beta1, beta2, epsilon, l2, 1.0, RowsFor(lazy_mode, l2)});
}

void AdamW(const KernelContext&, std::span<const Tensor> params,
           std::span<const Tensor> grads, std::span<const Tensor> moment1s,
           std::span<const Tensor> moment2s, std::span<const Tensor> beta1_pows,
           std::span<const Tensor> beta2_pows, const Tensor& lr, double beta1,
           double beta2, double epsilon, double decay, double lr_scale,
           bool lazy_mode, double grad_scale, std::span<const Tensor> rounded) {
  const double rate = optimizer::ReadRate("adamw_", lr) * lr_scale;
  Step("adamw_",
       {params, grads, moment1s, moment2s, beta1_pows, beta2_pows, rounded,
        grad_scale},
       {rate, beta1, beta2, epsilon, 0.0, 1.0 - rate * decay,
        RowsFor(lazy_mode, 0.0)});
}

void Adagrad(const KernelContext&, std::span<const Tensor> params,
             std::span<const Tensor> grads, std::span<const Tensor> moments,
             const Tensor& lr, double epsilon, double lr_scale, double l2,
             double grad_scale, std::span<const Tensor> rounded) {
  const double rate = optimizer::ReadRate("adagrad_", lr) * lr_scale;
  optimizer::CheckBeside("adagrad_", params, "moments", moments);
  const StepWork work("adagrad_", params, {grads, grad_scale, rounded},
                      l2 == 0.0 ? StepRows::kHeld : StepRows::kAll);
  RunStep(work, [&]<typename T>(size_t i, int64_t begin, int64_t n,
                                const T* __restrict__ g) {
    using W = Wide<T>;
    T* __restrict__ p = params[i].data<T>() + begin;
    T* __restrict__ m = moments[i].data<T>() + begin;
    const W step = static_cast<W>(rate), decay = static_cast<W>(l2);
    const W floor = static_cast<W>(epsilon);
    for (int64_t j = 0; j < n; ++j) {
      const W x = static_cast<W>(p[j]);
      const W gradient = static_cast<W>(g[j]) + decay * x;
      const W moment = static_cast<W>(m[j]) + gradient * gradient;
      m[j] = static_cast<T>(moment);
      p[j] = static_cast<T>(x - step * gradient / (std::sqrt(moment) + floor));
    }
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
