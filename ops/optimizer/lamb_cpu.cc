// Kernel of LAMB, compiled once per instruction set.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/optimizer/elements.h"
#include "ops/optimizer/lamb_kernels.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/step.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using optimizer::StepRows;
using optimizer::StepWork;

// What is the same for all parameters.
struct LambNumbers {
  double beta1, beta2, epsilon, decay, l2;
};

// What a parameter's step is made of, elements in W.
template <typename T>
struct LambStep {
  using W = Wide<T>;
  LambStep(const LambNumbers& n, const Tensor& p, const Tensor& m1,
           const Tensor& m2, double power1, double power2)
      : p(p.data<T>()),
        m1(m1.data<T>()),
        m2(m2.data<T>()),
        unbias1(static_cast<W>(1.0 / (1.0 - power1))),
        unbias2(static_cast<W>(1.0 / (1.0 - power2))),
        epsilon(static_cast<W>(n.epsilon)),
        decay(static_cast<W>(n.decay)) {}

  W At(int64_t j) const {
    const W first = static_cast<W>(m1[j]) * unbias1;
    const W second = static_cast<W>(m2[j]) * unbias2;
    return first / (std::sqrt(second) + epsilon) + static_cast<W>(p[j]) * decay;
  }

  T* p;
  const T *m1, *m2;
  W unbias1, unbias2, epsilon, decay;
};

// Squares of a parameter's elements and of its step's.
struct Squares {
  double param = 0.0, step = 0.0;
};

// In lanes, which the compiler keeps in vectors.
template <typename T>
Squares SumOfSquares(const LambStep<T>& s, int64_t begin, int64_t end) {
  constexpr int kLanes = 8;
  double param[kLanes] = {}, step[kLanes] = {};
  for (int64_t i = begin; i < end; i += kLanes) {
    const int count = static_cast<int>(std::min<int64_t>(kLanes, end - i));
    for (int j = 0; j < count; ++j) {
      const auto x = static_cast<double>(static_cast<Wide<T>>(s.p[i + j]));
      const auto y = static_cast<double>(s.At(i + j));
      param[j] += x * x;
      step[j] += y * y;
    }
  }
  Squares sum;
  for (int j = 0; j < kLanes; ++j) {
    sum.param += param[j];
    sum.step += step[j];
  }
  return sum;
}

struct Chunk {
  size_t i;
  int64_t begin, end;
};

}  // namespace

void Lamb(const KernelContext&, std::span<const Tensor> params,
          std::span<const Tensor> grads, std::span<const Tensor> moment1s,
          std::span<const Tensor> moment2s, std::span<const Tensor> beta1_pows,
          std::span<const Tensor> beta2_pows, const Tensor& lr, double beta1,
          double beta2, double epsilon, double decay, double lr_scale,
          double l2, double grad_scale, std::span<const Tensor> rounded) {
  const double rate = optimizer::ReadRate("lamb_", lr) * lr_scale;
  const StepWork moments("lamb_", params, {grads, grad_scale}, StepRows::kAll);
  // The second pass reads no gradients: parameters stand in for them.
  const StepWork update("lamb_", params, {params, 1.0, rounded},
                        StepRows::kAll);
  optimizer::CheckBeside("lamb_", params, "moment1s", moment1s);
  optimizer::CheckBeside("lamb_", params, "moment2s", moment2s);
  optimizer::CheckPowers("lamb_", params, "beta1_pows", beta1_pows, true);
  optimizer::CheckPowers("lamb_", params, "beta2_pows", beta2_pows, true);
  const LambNumbers n{beta1, beta2, epsilon, decay, l2};
  RunStep(moments, [&]<typename T>(size_t i, int64_t begin, int64_t count,
                                   const T* __restrict__ g) {
    using W = Wide<T>;
    const W b1 = static_cast<W>(n.beta1), b2 = static_cast<W>(n.beta2);
    const W penalty = static_cast<W>(n.l2);
    const T* __restrict__ p = params[i].data<T>() + begin;
    T* __restrict__ m1 = moment1s[i].data<T>() + begin;
    T* __restrict__ m2 = moment2s[i].data<T>() + begin;
    for (int64_t j = 0; j < count; ++j) {
      const W gradient = static_cast<W>(g[j]) + penalty * static_cast<W>(p[j]);
      m1[j] =
          static_cast<T>(b1 * static_cast<W>(m1[j]) + (W(1) - b1) * gradient);
      m2[j] = static_cast<T>(b2 * static_cast<W>(m2[j]) +
                             (W(1) - b2) * gradient * gradient);
    }
  });

  const auto step_of = [&]<typename T>(size_t i, TypeTag<T>) {
    return LambStep<T>(n, params[i], moment1s[i], moment2s[i],
                       optimizer::PowerOf(beta1_pows[i]),
                       optimizer::PowerOf(beta2_pows[i]));
  };
  // Chunks are cut by size alone, so that threads do not change the sums.
  std::vector<Chunk> chunks;
  for (size_t i = 0; i < params.size(); ++i) {
    for (int64_t begin = 0; begin < params[i].numel(); begin += kGrain)
      chunks.push_back({i, begin, std::min(begin + kGrain, params[i].numel())});
  }
  std::vector<Squares> sums(chunks.size());
  parallel_for(
      0, static_cast<int64_t>(chunks.size()), 1,
      [&](int64_t first, int64_t last) {
        for (int64_t k = first; k < last; ++k) {
          const Chunk& c = chunks[k];
          VisitFloating(params[c.i].dtype(), [&]<typename T>(TypeTag<T> tag) {
            sums[k] = SumOfSquares(step_of(c.i, tag), c.begin, c.end);
          });
        }
      });
  std::vector<Squares> totals(params.size());
  for (size_t k = 0; k < chunks.size(); ++k) {
    totals[chunks[k].i].param += sums[k].param;
    totals[chunks[k].i].step += sums[k].step;
  }

  RunStep(update, [&]<typename T>(size_t i, int64_t begin, int64_t count,
                                  const T*) {
    using W = Wide<T>;
    const Squares& t = totals[i];
    // A NaN is not above 0 either: it reaches the parameter through its step.
    const double ratio =
        t.param > 0.0 && t.step > 0.0 ? std::sqrt(t.param / t.step) : 1.0;
    const W factor = static_cast<W>(rate * ratio);
    const auto s = step_of(i, TypeTag<T>{});
    for (int64_t j = begin; j < begin + count; ++j)
      s.p[j] = static_cast<T>(static_cast<W>(s.p[j]) - factor * s.At(j));
  });
  for (size_t i = 0; i < params.size(); ++i) {
    optimizer::RaisePower(beta1_pows[i], beta1);
    optimizer::RaisePower(beta2_pows[i], beta2);
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
