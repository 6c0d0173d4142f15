// Kernels of range.yaml: element i follows from i. As on the CPU each product
// and sum is rounded, in double.
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "ops/creation/range_kernels.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/scalar.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;

// Values that an integer type does not hold saturate.
template <class T>
__device__ __forceinline__ Memory<T> FromDouble(double v) {
  if constexpr (std::is_integral_v<T>) {
    const bool fits = isfinite(v) && fabs(v) < 0x1p63;
    return static_cast<T>(static_cast<int64_t>(fits ? v : copysign(0x1p62, v)));
  } else {
    return Store<Memory<T>>(v);
  }
}

template <class T, class F>
__global__ void FillWith(F f, Memory<T>* out, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) out[i] = f.template At<T>(i);
}

struct Integers {
  uint64_t start, step;  // may pass the ends of int64 before the sum
  template <class T>
  __device__ Memory<T> At(int64_t i) const {
    const auto v =
        static_cast<int64_t>(start + step * static_cast<uint64_t>(i));
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(v);
    } else {
      return Store<Memory<T>>(static_cast<double>(v));
    }
  }
};

struct Steps {
  double start, step;
  template <class T>
  __device__ Memory<T> At(int64_t i) const {
    return FromDouble<T>(
        __dadd_rn(start, __dmul_rn(step, static_cast<double>(i))));
  }
};

// From both ends, so that the last is b exactly and the values are symmetric.
struct Between {
  double a, b, step;
  int64_t n;
  __device__ double Value(int64_t i) const {
    if (n == 1) return a;
    return i < n / 2
               ? __dadd_rn(a, __dmul_rn(step, static_cast<double>(i)))
               : __dadd_rn(b, -__dmul_rn(step, static_cast<double>(n - 1 - i)));
  }
  template <class T>
  __device__ Memory<T> At(int64_t i) const {
    const double v = Value(i);
    return FromDouble<T>(std::is_integral_v<T> ? floor(v) : v);
  }
};

struct Powers {
  double base;
  Between exponents;
  template <class T>
  __device__ Memory<T> At(int64_t i) const {
    return FromDouble<T>(pow(base, exponents.Value(i)));
  }
};

Between BetweenEnds(const Scalar& start, const Scalar& stop, int64_t n) {
  const double a = start.to<double>(), b = stop.to<double>();
  return {a, b, n > 1 ? (b - a) / static_cast<double>(n - 1) : 0.0, n};
}

template <class F>
void FillAll(const KernelContext& ctx, const F& f, Tensor* out) {
  const int64_t n = out->numel();
  if (n == 0) return;
  VisitReal(out->dtype(), [&]<class T>(Tag<T>) {
    if constexpr (!std::is_same_v<T, bool>) {
      FillWith<T>
          <<<static_cast<uint32_t>(CeilDiv(n, kThreads)), kThreads, 0,
             StreamOf(ctx)>>>(f, static_cast<Memory<T>*>(out->raw_data()), n);
    }
  });
  CheckLaunch("range");
}

}  // namespace

void Arange(const KernelContext& ctx, const Scalar& start,
            const std::optional<Scalar>& end, const Scalar& step,
            std::optional<DType>, std::optional<Place>, Tensor* out) {
  const Scalar from = end.has_value() ? start : Scalar(int64_t{0});
  if (IsInteger(out->dtype()) && !from.is_float() && !step.is_float()) {
    return FillAll(ctx,
                   Integers{static_cast<uint64_t>(from.to<int64_t>()),
                            static_cast<uint64_t>(step.to<int64_t>())},
                   out);
  }
  FillAll(ctx, Steps{from.to<double>(), step.to<double>()}, out);
}

void Linspace(const KernelContext& ctx, const Scalar& start, const Scalar& stop,
              int64_t num, std::optional<DType>, std::optional<Place>,
              Tensor* out) {
  FillAll(ctx, BetweenEnds(start, stop, num), out);
}

void Logspace(const KernelContext& ctx, const Scalar& start, const Scalar& stop,
              int64_t num, double base, std::optional<DType>,
              std::optional<Place>, Tensor* out) {
  FillAll(ctx, Powers{base, BetweenEnds(start, stop, num)}, out);
}

}  // namespace proa::inline v0::ops::cuda
