// Kernels of moments.yaml.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/exp_sum.h"
#include "ops/primitives/cpu/reduce.h"
#include "ops/primitives/cpu/summary.h"
#include "ops/reduction/moments_kernels.h"
#include "ops/reduction/moments_of.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Converts the results `values` of type T to `out`, from result `first` on.
template <class T>
void Store(const T* values, int64_t first, int64_t n, const Tensor& out) {
  char* to = out.data<char>() + first * ItemSize(out.dtype());
  const ConvertFn convert = FindConvert(kDTypeOf<T>, out.dtype());
  if (convert == nullptr) {
    std::copy_n(values, n, reinterpret_cast<T*>(to));
  } else {
    convert(values, to, n);
  }
}

// out[i] = result(state of i), by way of T.
template <class Op, class F>
void SummarizeInto(const Tensor& x, uint64_t axes, int64_t cost, Tensor* out,
                   F result) {
  using T = typename Op::Compute;
  Summarize<Op>(
      x, axes, cost,
      [&](int64_t first, const typename Op::State* states, int64_t n) {
        T values[kBlock];
        for (int64_t i = 0; i < n; i += kBlock) {
          const int64_t count = std::min(kBlock, n - i);
          for (int64_t j = 0; j < count; ++j) values[j] = result(states[i + j]);
          Store(values, first + i, count, *out);
        }
      });
}

// Variance, or its root.
template <class T>
void VarIn(const Tensor& x, uint64_t axes, bool unbiased, bool root,
           Tensor* out) {
  // 0 / 0 is NaN, as it should be, also for a single element.
  const double divisor = static_cast<double>(
      std::max<int64_t>(0, ReducedCount(x, axes) - unbiased));
  SummarizeInto<MomentsOf<T>>(
      x, axes, /*cost=*/2, out, [divisor, root](const auto& s) {
        const double variance = s.squares / divisor;
        return static_cast<T>(root ? std::sqrt(variance) : variance);
      });
}

void VarInto(const Tensor& x, std::span<const int64_t> axis, bool unbiased,
             bool root, Tensor* out) {
  const uint64_t axes = ReducedAxes(x, axis);
  if (x.dtype() == DType::kFloat64) {
    VarIn<double>(x, axes, unbiased, root, out);
  } else {
    VarIn<float>(x, axes, unbiased, root, out);
  }
}

template <class T>
void LogsumexpIn(const Tensor& x, uint64_t axes, Tensor* out) {
  using Op = ExpSumOf<T>;
  SummarizeInto<Op>(x, axes, Op::kCost, out, [](const auto& s) {
    // An infinity is the result itself, but for NaN.
    const bool log =
        s.sum != s.sum || std::abs(s.largest) <= std::numeric_limits<T>::max();
    return log ? std::log(s.sum) + s.largest : s.largest;
  });
}

}  // namespace

void Var(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
         bool unbiased, bool, Tensor* out) {
  VarInto(x, axis, unbiased, /*root=*/false, out);
}

void Std(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
         bool unbiased, bool, Tensor* out) {
  VarInto(x, axis, unbiased, /*root=*/true, out);
}

void Logsumexp(const KernelContext&, const Tensor& x,
               std::span<const int64_t> axis, bool, Tensor* out) {
  const uint64_t axes = ReducedAxes(x, axis);
  if (x.dtype() == DType::kFloat64) {
    LogsumexpIn<double>(x, axes, out);
  } else {
    LogsumexpIn<float>(x, axes, out);
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
