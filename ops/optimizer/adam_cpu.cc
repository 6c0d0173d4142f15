// Kernels of Adam and AdamW, compiled once per instruction set.
#include <cmath>

#include "ops/optimizer/elements.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/optimizer_kernels.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

struct AdamLists {
  std::span<const Tensor> params, grads, moment1s, moment2s, beta1_pows,
      beta2_pows;
};

// What is the same for all parameters. `keep` is what decoupled decay leaves.
struct AdamNumbers {
  double rate, beta1, beta2, epsilon, l2, keep;
};

void Check(const char* op, const AdamLists& l) {
  optimizer::CheckBeside(op, l.params, "grads", l.grads);
  optimizer::CheckBeside(op, l.params, "moment1s", l.moment1s);
  optimizer::CheckBeside(op, l.params, "moment2s", l.moment2s);
  optimizer::CheckPowers(op, l.params, "beta1_pows", l.beta1_pows);
  optimizer::CheckPowers(op, l.params, "beta2_pows", l.beta2_pows);
}

template <typename T>
void StepOne(const AdamLists& l, size_t i, const AdamNumbers& n) {
  using W = Wide<T>;
  float& power1 = *l.beta1_pows[i].data<float>();
  float& power2 = *l.beta2_pows[i].data<float>();
  const double correction = std::sqrt(1.0 - static_cast<double>(power2));
  const W step =
      static_cast<W>(n.rate * correction / (1.0 - static_cast<double>(power1)));
  const W floor = static_cast<W>(n.epsilon * correction);
  const W b1 = static_cast<W>(n.beta1), b2 = static_cast<W>(n.beta2);
  const W l2 = static_cast<W>(n.l2), keep = static_cast<W>(n.keep);
  T* __restrict__ p = l.params[i].data<T>();
  T* __restrict__ m1 = l.moment1s[i].data<T>();
  T* __restrict__ m2 = l.moment2s[i].data<T>();
  const T* __restrict__ g = l.grads[i].data<T>();
  ForElements(l.params[i], [=](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
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
  power1 = static_cast<float>(power1 * n.beta1);
  power2 = static_cast<float>(power2 * n.beta2);
}

void Step(const char* op, const AdamLists& l, const AdamNumbers& n) {
  Check(op, l);
  for (size_t i = 0; i < l.params.size(); ++i) {
    VisitFloating(l.params[i].dtype(), [&](auto tag) {
      StepOne<typename decltype(tag)::type>(l, i, n);
    });
  }
}

}  // namespace

void Adam(const KernelContext&, std::span<const Tensor> params,
          std::span<const Tensor> grads, std::span<const Tensor> moment1s,
          std::span<const Tensor> moment2s, std::span<const Tensor> beta1_pows,
          std::span<const Tensor> beta2_pows, const Tensor& lr, double beta1,
          double beta2, double epsilon, double lr_scale, double l2) {
  const double rate = optimizer::ReadRate("adam_", lr) * lr_scale;
  Step("adam_", {params, grads, moment1s, moment2s, beta1_pows, beta2_pows},
       {rate, beta1, beta2, epsilon, l2, 1.0});
}

void AdamW(const KernelContext&, std::span<const Tensor> params,
           std::span<const Tensor> grads, std::span<const Tensor> moment1s,
           std::span<const Tensor> moment2s, std::span<const Tensor> beta1_pows,
           std::span<const Tensor> beta2_pows, const Tensor& lr, double beta1,
           double beta2, double epsilon, double decay, double lr_scale) {
  const double rate = optimizer::ReadRate("adamw_", lr) * lr_scale;
  Step("adamw_", {params, grads, moment1s, moment2s, beta1_pows, beta2_pows},
       {rate, beta1, beta2, epsilon, 0.0, 1.0 - rate * decay});
}

}  // namespace proa::inline v0::ops::PROA_ISA
