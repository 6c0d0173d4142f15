// Kernels of extremum.yaml.
#include <limits>

#include "ops/primitives/cast_value.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/reduce.h"
#include "ops/reduction/extremum_kernels.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// NaN wins. Inference has seen to it that there is an element.
struct MaxOf {
  template <class T>
  static T Identity() {
    return std::numeric_limits<T>::has_infinity
               ? static_cast<T>(-std::numeric_limits<T>::infinity())
               : std::numeric_limits<T>::lowest();
  }
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    const T larger =
        a > b ? a : b;  // one instruction, which gives b beside NaN
    return a != a ? a : larger;
  }
};

struct MinOf {
  template <class T>
  static T Identity() {
    return std::numeric_limits<T>::has_infinity
               ? std::numeric_limits<T>::infinity()
               : std::numeric_limits<T>::max();
  }
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    const T smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};

// Truth values as bytes, 0 or 1.
struct AllOf {
  template <class T>
  static T Identity() {
    return 1;
  }
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    return a & b;
  }
};

struct AnyOf {
  template <class T>
  static T Identity() {
    return 0;
  }
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    return a | b;
  }
};

template <class Op>
constexpr Reduction ReductionIn(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return MakeReduction<Op, uint8_t>();
    case DType::kInt8:
      return MakeReduction<Op, int8_t>();
    case DType::kInt16:
      return MakeReduction<Op, int16_t>();
    case DType::kInt32:
      return MakeReduction<Op, int32_t>();
    case DType::kInt64:
      return MakeReduction<Op, int64_t>();
    case DType::kFloat64:
      return MakeReduction<Op, double>();
    default:
      return MakeReduction<Op, float>();
  }
}

template <class Op>
void Extremum(const Tensor& x, std::span<const int64_t> axis, Tensor* out) {
  const Reduction op = ReductionIn<Op>(x.dtype());
  const uint64_t axes = ReducedAxes(x, axis);
  if (op.compute == out->dtype()) {
    Reduce(op, x, axes, out->raw_data());
    return;
  }
  const Tensor acc = Tensor::Empty(out->shape(), op.compute);
  Reduce(op, x, axes, acc.raw_data());
  FindConvert(op.compute, out->dtype())(acc.raw_data(), out->raw_data(),
                                        out->numel());
}

template <class Op>
void Truth(const Tensor& x, std::span<const int64_t> axis, Tensor* out) {
  Reduction op = MakeReduction<Op, uint8_t>();
  op.compute = DType::kBool;  // so that elements become 0 or 1
  Reduce(op, x, ReducedAxes(x, axis), out->raw_data());
}

}  // namespace

void Max(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
         bool, Tensor* out) {
  Extremum<MaxOf>(x, axis, out);
}

void Min(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
         bool, Tensor* out) {
  Extremum<MinOf>(x, axis, out);
}

void All(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
         bool, Tensor* out) {
  Truth<AllOf>(x, axis, out);
}

void Any(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
         bool, Tensor* out) {
  Truth<AnyOf>(x, axis, out);
}

}  // namespace proa::inline v0::ops::PROA_ISA
