// Kernels of norm.yaml.
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "ops/primitives/cuda/reduce.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "ops/reduction/norm_kernels.h"

namespace proa::inline v0::ops::cuda {
namespace {

enum class Norm { kSquares, kSizes, kNotZero, kLargest, kSmallest, kPowers };

// In double: squares of float neither overflow nor vanish there.
template <class T>
struct NormOf {
  using Element = Memory<T>;
  using State = double;
  Norm norm;
  double p;

  __device__ __forceinline__ double Start() const {
    return norm == Norm::kSmallest ? std::numeric_limits<double>::infinity()
                                   : 0.0;
  }
  __device__ __forceinline__ double Take(Element v, int64_t) const {
    const double x = static_cast<double>(Load<Compute<T>>(v));
    switch (norm) {
      case Norm::kSquares:
        return x * x;
      case Norm::kNotZero:
        return x == 0 ? 0 : 1;
      case Norm::kPowers:
        return pow(fabs(x), p);
      default:
        return fabs(x);
    }
  }
  // NaN stays.
  __device__ __forceinline__ double Join(double a, double b) const {
    switch (norm) {
      case Norm::kLargest:
        return b > a || b != b ? b : a;
      case Norm::kSmallest:
        return b < a || b != b ? b : a;
      default:
        return a + b;
    }
  }
  __device__ __forceinline__ void Write(char* out, int64_t i, double s) const {
    if (norm == Norm::kSquares) s = sqrt(s);
    if (norm == Norm::kPowers) s = pow(s, 1.0 / p);
    reinterpret_cast<Element*>(out)[i] = Store<Element>(s);
  }
};

Norm KindOf(double p) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (p == 2) return Norm::kSquares;
  if (p == 1) return Norm::kSizes;
  if (p == 0) return Norm::kNotZero;
  if (p == kInfinity) return Norm::kLargest;
  if (p == -kInfinity) return Norm::kSmallest;
  return Norm::kPowers;
}

}  // namespace

void PNorm(const KernelContext& ctx, const Tensor& x, double p,
           std::span<const int64_t> axis, bool, Tensor* out) {
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    Reduce(ctx, NormOf<T>{KindOf(p), p}, x, ReducedAxes(x, axis),
           out->data<char>());
  });
}

}  // namespace proa::inline v0::ops::cuda
