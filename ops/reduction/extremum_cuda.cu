// Kernels of extremum.yaml.
#include <cstdint>
#include <limits>
#include <span>

#include "ops/primitives/cuda/reduce.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "ops/reduction/extremum_kernels.h"

namespace proa::inline v0::ops::cuda {
namespace {

// NaN wins. Inference has seen to it that there is an element.
template <class T>
struct MaxOf {
  using Element = Memory<T>;
  using State = Compute<T>;
  using Limits = std::numeric_limits<State>;
  __device__ __forceinline__ State Start() const {
    return Limits::has_infinity ? static_cast<State>(-Limits::infinity())
                                : Limits::lowest();
  }
  __device__ __forceinline__ State Take(Element v, int64_t) const {
    return Load<State>(v);
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    return a != a || a > b ? a : b;
  }
  __device__ __forceinline__ void Write(char* out, int64_t i, State s) const {
    reinterpret_cast<Element*>(out)[i] = Store<Element>(s);
  }
};

template <class T>
struct MinOf : MaxOf<T> {
  using State = Compute<T>;
  using Limits = std::numeric_limits<State>;
  __device__ __forceinline__ State Start() const {
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    return a != a || a < b ? a : b;
  }
};

// Truth values; NaN is true.
template <class T>
struct Truth {
  using Element = Memory<T>;
  using State = uint8_t;
  bool all;  // or any
  __device__ __forceinline__ State Start() const { return all; }
  __device__ __forceinline__ State Take(Element v, int64_t) const {
    return Load<Compute<T>>(v) != Compute<T>(0);
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    return all ? a & b : a | b;
  }
  __device__ __forceinline__ void Write(char* out, int64_t i, State s) const {
    reinterpret_cast<uint8_t*>(out)[i] = s;
  }
};

template <template <class> class Op>
void Extremum(const KernelContext& ctx, const Tensor& x,
              std::span<const int64_t> axis, Tensor* out) {
  VisitReal(x.dtype(), [&]<class T>(Tag<T>) {
    Reduce(ctx, Op<T>{}, x, ReducedAxes(x, axis), out->data<char>());
  });
}

void TruthOf(const KernelContext& ctx, const Tensor& x,
             std::span<const int64_t> axis, bool all, Tensor* out) {
  VisitReal(x.dtype(), [&]<class T>(Tag<T>) {
    Reduce(ctx, Truth<T>{all}, x, ReducedAxes(x, axis), out->data<char>());
  });
}

}  // namespace

void Max(const KernelContext& ctx, const Tensor& x,
         std::span<const int64_t> axis, bool, Tensor* out) {
  Extremum<MaxOf>(ctx, x, axis, out);
}

void Min(const KernelContext& ctx, const Tensor& x,
         std::span<const int64_t> axis, bool, Tensor* out) {
  Extremum<MinOf>(ctx, x, axis, out);
}

void All(const KernelContext& ctx, const Tensor& x,
         std::span<const int64_t> axis, bool, Tensor* out) {
  TruthOf(ctx, x, axis, /*all=*/true, out);
}

void Any(const KernelContext& ctx, const Tensor& x,
         std::span<const int64_t> axis, bool, Tensor* out) {
  TruthOf(ctx, x, axis, /*all=*/false, out);
}

}  // namespace proa::inline v0::ops::cuda
