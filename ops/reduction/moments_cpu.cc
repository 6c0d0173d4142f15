// Kernels of moments.yaml.
#include <cmath>
#include <limits>

#include "ops/elementwise/exponential.h"
#include "ops/primitives/cpu/accumulator.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/loops.h"
#include "ops/primitives/cpu/reduce.h"
#include "ops/reduction/reduction_kernels.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// What reductions are made of: an element and the (mean or largest) element of
// its reduced dims.
struct SquaredDistance {
  template <class T>
  PROA_HD static T Apply(T x, T center) {
    return (x - center) * (x - center);
  }
};

struct ExpDistance {
  static constexpr float kCost = 5;
  template <class T>
  PROA_HD static T Apply(T x, T center) {
    return formula::Exp::Apply(x - center);
  }
};

struct LargestOf {
  template <class T>
  static T Identity() {
    return -std::numeric_limits<T>::infinity();
  }
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    return a != a || a > b ? a : b;
  }
};

// Shape of the result with the reduced dims as 1, which broadcasts to x.
Shape KeptShape(const Tensor& x, uint64_t axes) {
  Shape shape = x.shape();
  for (int d = 0; d < x.rank(); ++d) {
    if (axes >> d & 1) shape[d] = 1;
  }
  return shape;
}

// Stores the results `values` of type T to `out`, which may be of a half type.
template <class T>
void Store(const Tensor& values, Tensor* out) {
  const ConvertFn convert = FindConvert(kDTypeOf<T>, out->dtype());
  if (convert == nullptr) {
    std::copy_n(values.data<T>(), values.numel(), out->data<T>());
  } else {
    convert(values.raw_data(), out->raw_data(), out->numel());
  }
}

// The sum over the reduced dims of Formula(x, center).
template <class T, class Formula>
Tensor SumOfDistances(const Tensor& x, const Tensor& center, uint64_t axes) {
  Tensor distances = Tensor::Empty(x.shape(), kDTypeOf<T>);
  RunElementwise<T>(Formula{}, &distances, x, center);
  Tensor sum = Tensor::Empty(center.shape(), kDTypeOf<T>);
  Reduce(MakeReduction<SumOf, T>(), distances, axes, sum.raw_data());
  return sum;
}

template <class T>
void VarIn(const Tensor& x, uint64_t axes, bool unbiased, Tensor* out) {
  const int64_t count = ReducedCount(x, axes);
  const Tensor mean = Tensor::Empty(KeptShape(x, axes), kDTypeOf<T>);
  Reduce(MakeReduction<SumOf, T>(), x, axes, mean.raw_data());
  T* m = mean.data<T>();
  for (int64_t i = 0; i < mean.numel(); ++i) m[i] /= static_cast<T>(count);
  const Tensor sum = SumOfDistances<T, SquaredDistance>(x, mean, axes);
  // 0 / 0 is NaN, as it should be, also for a single element.
  const T divisor = static_cast<T>(std::max<int64_t>(0, count - unbiased));
  T* s = sum.data<T>();
  for (int64_t i = 0; i < sum.numel(); ++i) s[i] /= divisor;
  Store<T>(sum, out);
}

template <class T>
void LogsumexpIn(const Tensor& x, uint64_t axes, Tensor* out) {
  const Tensor largest = Tensor::Empty(KeptShape(x, axes), kDTypeOf<T>);
  Reduce(MakeReduction<LargestOf, T>(), x, axes, largest.raw_data());
  T* m = largest.data<T>();
  for (int64_t i = 0; i < largest.numel(); ++i) {
    // Infinities cannot be subtracted from themselves; their exponentials are
    // right without it.
    if (!(std::abs(m[i]) <= std::numeric_limits<T>::max())) m[i] = 0;
  }
  const Tensor sum = SumOfDistances<T, ExpDistance>(x, largest, axes);
  T* s = sum.data<T>();
  for (int64_t i = 0; i < sum.numel(); ++i) s[i] = std::log(s[i]) + m[i];
  Store<T>(sum, out);
}

}  // namespace

void Var(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
         bool unbiased, bool, Tensor* out) {
  const uint64_t axes = ReducedAxes(x, axis);
  if (x.dtype() == DType::kFloat64) {
    VarIn<double>(x, axes, unbiased, out);
  } else {
    VarIn<float>(x, axes, unbiased, out);
  }
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
