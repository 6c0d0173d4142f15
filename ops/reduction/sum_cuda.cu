// Kernels of sum.yaml.
#include <cstdint>
#include <optional>
#include <span>

#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/front_door.h"
#include "ops/primitives/arithmetic.h"
#include "ops/primitives/cuda/reduce.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "ops/reduction/sum_kernels.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops::cuda {
namespace {

// How elements and partial results meet. Take: what an element is before that.
struct Plus {
  template <class A>
  static __device__ __forceinline__ A Start() {
    return A(0);
  }
  template <class A>
  static __device__ __forceinline__ A Join(A a, A b) {
    return WrapAdd(a, b);
  }
  template <class A>
  static __device__ __forceinline__ A Take(A v) {
    return v;
  }
};

// NaN is taken for 0.
struct PlusNumbers : Plus {
  template <class A>
  static __device__ __forceinline__ A Take(A v) {
    return v == v ? v : A(0);
  }
};

struct Times {
  template <class A>
  static __device__ __forceinline__ A Start() {
    return A(1);
  }
  template <class A>
  static __device__ __forceinline__ A Join(A a, A b) {
    return WrapMultiply(a, b);
  }
  template <class A>
  static __device__ __forceinline__ A Take(A v) {
    return v;
  }
};

// Elements of T are folded in A; results are divided by `divisor`, unless it is
// 0, and written as `dtype`.
template <class How, class T, class A>
struct Fold {
  using Element = Memory<T>;
  using State = A;
  DType dtype;
  double divisor;

  __device__ __forceinline__ A Start() const {
    return How::template Start<A>();
  }
  __device__ __forceinline__ A Take(Element v, int64_t) const {
    return How::Take(static_cast<A>(Load<Compute<T>>(v)));
  }
  __device__ __forceinline__ A Join(A a, A b) const { return How::Join(a, b); }
  __device__ __forceinline__ void Write(char* out, int64_t i, A s) const {
    if constexpr (std::is_floating_point_v<A>) {
      if (divisor >= 0) s = s / static_cast<A>(divisor);
    }
    StoreAs(dtype, out, i, s);
  }
};

// What x is folded in by itself.
template <class T>
using Natural = std::conditional_t<std::is_integral_v<T>, int64_t, Compute<T>>;

DType NaturalOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return DType::kFloat64;
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
      return DType::kFloat32;
    default:
      return DType::kInt64;
  }
}

template <class How>
void FoldInto(const KernelContext& ctx, const Tensor& x, uint64_t axes,
              double divisor, Tensor* out) {
  // The result's type says what is folded in.
  const DType accumulator = NaturalOf(out->dtype());
  if (NaturalOf(x.dtype()) != accumulator) {
    const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
    return FoldInto<How>(ctx, cast(x, accumulator), axes, divisor, out);
  }
  VisitReal(x.dtype(), [&]<class T>(Tag<T>) {
    Reduce(ctx, Fold<How, T, Natural<T>>{out->dtype(), divisor}, x, axes,
           out->data<char>());
  });
}

constexpr double kNoDivisor = -1;

}  // namespace

void Sum(const KernelContext& ctx, const Tensor& x,
         std::span<const int64_t> axis, std::optional<DType>, bool,
         Tensor* out) {
  FoldInto<Plus>(ctx, x, ReducedAxes(x, axis), kNoDivisor, out);
}

void Nansum(const KernelContext& ctx, const Tensor& x,
            std::span<const int64_t> axis, std::optional<DType>, bool,
            Tensor* out) {
  const uint64_t axes = ReducedAxes(x, axis);
  if (!IsFloat(x.dtype()) || IsFloat(out->dtype()))
    return FoldInto<PlusNumbers>(ctx, x, axes, kNoDivisor, out);
  // NaN must go before a conversion that does not keep it.
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  const Tensor numbers = where(isnan(x), ScalarLike(x, Scalar(0.0)), x);
  FoldInto<Plus>(ctx, numbers, axes, kNoDivisor, out);
}

void Prod(const KernelContext& ctx, const Tensor& x,
          std::span<const int64_t> axis, bool, std::optional<DType>,
          Tensor* out) {
  FoldInto<Times>(ctx, x, ReducedAxes(x, axis), kNoDivisor, out);
}

void Mean(const KernelContext& ctx, const Tensor& x,
          std::span<const int64_t> axis, bool, Tensor* out) {
  const uint64_t axes = ReducedAxes(x, axis);
  FoldInto<Plus>(ctx, x, axes, static_cast<double>(ReducedCount(x, axes)), out);
}

void ReduceTo(const KernelContext& ctx, const Tensor& x, const IntArray& shape,
              Tensor* out) {
  const int lead = x.rank() - static_cast<int>(shape.size());
  uint64_t axes = 0;
  for (int d = 0; d < x.rank(); ++d) {
    const bool reduced = d < lead || (shape[d - lead] == 1 && x.size(d) != 1);
    axes |= uint64_t{reduced} << d;
  }
  FoldInto<Plus>(ctx, x, axes, kNoDivisor, out);
}

}  // namespace proa::inline v0::ops::cuda
