// Kernels of sum.yaml.
#include <cstring>
#include <type_traits>

#include "ops/primitives/cpu/accumulator.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/loops.h"
#include "ops/primitives/cpu/reduce.h"
#include "ops/primitives/host_device.h"
#include "ops/reduction/load.h"
#include "ops/reduction/sum_kernels.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// x, or 0 where it is NaN.
struct Number {
  template <class T>
  PROA_HD static T Apply(T x) {
    return x == x ? x : T(0);
  }
};

// Partial sums may be NaN: infinity less infinity is.
struct SumOfNumbers : SumOf {
  template <class T>
  requires(!std::is_integral_v<T>) PROA_HD static T Take(T x) {
    return Number::Apply(x);
  }
};

template <class Op>
const Reduction& ReductionIn(DType accumulator) {
  static constexpr Reduction kInt = MakeReduction<Op, int64_t>();
  static constexpr Reduction kFloat = MakeReduction<Op, float>();
  static constexpr Reduction kDouble = MakeReduction<Op, double>();
  static constexpr Reduction kComplexFloat = MakeReduction<Op, complex64>();
  static constexpr Reduction kComplexDouble = MakeReduction<Op, complex128>();
  switch (accumulator) {
    case DType::kInt64:
      return kInt;
    case DType::kFloat32:
      return kFloat;
    case DType::kFloat64:
      return kDouble;
    case DType::kComplex64:
      return kComplexFloat;
    default:
      return kComplexDouble;
  }
}

template <class T>
void DivideAll(void* values, int64_t n, int64_t count) {
  T* v = static_cast<T*>(values);
  for (int64_t i = 0; i < n; ++i) v[i] = v[i] / static_cast<T>(count);
}

void DivideAll(DType dtype, void* values, int64_t n, int64_t count) {
  switch (dtype) {
    case DType::kFloat32:
      return DivideAll<float>(values, n, count);
    case DType::kFloat64:
      return DivideAll<double>(values, n, count);
    // A complex number divided by a real one is two real divisions.
    case DType::kComplex64:
      return DivideAll<float>(values, 2 * n, count);
    default:
      return DivideAll<double>(values, 2 * n, count);
  }
}

// Reduces into `out` by way of accumulators, which `finish(data)` may still
// change.
template <class Op, class Finish>
void ReduceInto(const Tensor& x, uint64_t axes, Tensor* out, Finish finish) {
  const DType accumulator = AccumulatorOf(out->dtype());
  const ConvertFn convert = FindConvert(accumulator, out->dtype());
  Tensor acc =
      convert == nullptr ? *out : Tensor::Empty(out->shape(), accumulator);
  Reduce(ReductionIn<Op>(accumulator), AsTruth(x, out->dtype()), axes,
         acc.raw_data());
  finish(acc);
  if (convert != nullptr) {
    convert(acc.raw_data(), out->raw_data(), out->numel());
  }
}

constexpr auto kNothing = [](const Tensor&) {};

// x with zeros for NaN, contiguous.
Tensor Numbers(const Tensor& x) {
  Tensor out = Tensor::Empty(x.shape(), x.dtype());
  VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (!std::is_integral_v<T>) RunElementwise<T>(Number{}, &out, x);
  });
  return out;
}

}  // namespace

void Sum(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
         std::optional<DType>, bool, Tensor* out) {
  ReduceInto<SumOf>(x, ReducedAxes(x, axis), out, kNothing);
}

void Nansum(const KernelContext& ctx, const Tensor& x,
            std::span<const int64_t> axis, std::optional<DType> dtype,
            bool keepdim, Tensor* out) {
  const DType from = x.dtype(), to = out->dtype();
  if (!IsDifferentiable(from)) return Sum(ctx, x, axis, dtype, keepdim, out);
  // NaN must go before a conversion that does not keep it.
  if (!(IsComplex(to) || (IsFloat(to) && IsFloat(from))))
    return Sum(ctx, Numbers(x), axis, dtype, keepdim, out);
  ReduceInto<SumOfNumbers>(x, ReducedAxes(x, axis), out, kNothing);
}

void Prod(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
          bool, std::optional<DType>, Tensor* out) {
  ReduceInto<ProductOf>(x, ReducedAxes(x, axis), out, kNothing);
}

void Mean(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
          bool, Tensor* out) {
  const uint64_t axes = ReducedAxes(x, axis);
  const int64_t count = ReducedCount(x, axes);
  ReduceInto<SumOf>(x, axes, out, [count](const Tensor& acc) {
    DivideAll(acc.dtype(), acc.raw_data(), acc.numel(), count);
  });
}

void ReduceTo(const KernelContext&, const Tensor& x, const IntArray& shape,
              Tensor* out) {
  const int lead = x.rank() - shape.size();
  uint64_t axes = 0;
  for (int d = 0; d < x.rank(); ++d) {
    const bool reduced = d < lead || (shape[d - lead] == 1 && x.size(d) != 1);
    axes |= uint64_t{reduced} << d;
  }
  ReduceInto<SumOf>(x, axes, out, kNothing);
}

}  // namespace proa::inline v0::ops::PROA_ISA
