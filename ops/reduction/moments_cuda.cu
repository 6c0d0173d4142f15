// Kernels of moments.yaml.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "ops/primitives/cuda/reduce.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "ops/reduction/moments_kernels.h"

namespace proa::inline v0::ops::cuda {
namespace {

// Count, mean and sum of squared distances from the mean, joined by the formula
// of Chan, Golub and LeVeque (1983). Counts as double: exact beyond 2^24.
template <class T>
struct Moments {
  using Element = Memory<T>;
  using C = Compute<T>;
  struct State {
    C mean, squares;
    double count;
  };
  double divisor;
  bool root;

  __device__ __forceinline__ State Start() const { return {C(0), C(0), 0}; }
  __device__ __forceinline__ State Take(Element v, int64_t) const {
    return {Load<C>(v), C(0), 1};
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    if (b.count == 0) return a;
    if (a.count == 0) return b;
    const double count = a.count + b.count;
    const C share = static_cast<C>(b.count) / static_cast<C>(count);
    const C distance = b.mean - a.mean;
    return {a.mean + distance * share,
            a.squares + b.squares +
                distance * distance * (static_cast<C>(a.count) * share),
            count};
  }
  // 0 / 0 is NaN, as it should be, also for a single element.
  __device__ __forceinline__ void Write(char* out, int64_t i, State s) const {
    const double variance = static_cast<double>(s.squares) / divisor;
    reinterpret_cast<Element*>(out)[i] =
        Store<Element>(static_cast<C>(root ? sqrt(variance) : variance));
  }
};

// The largest element and the sum of exp(x - largest); NaN makes the sum NaN.
template <class T>
struct LogOfExpSum {
  using Element = Memory<T>;
  using C = Compute<T>;
  struct State {
    C largest, sum;
  };
  static constexpr C kInfinity = std::numeric_limits<C>::infinity();

  __device__ __forceinline__ State Start() const { return {-kInfinity, C(0)}; }
  __device__ __forceinline__ State Take(Element v, int64_t) const {
    const C x = Load<C>(v);
    return {x, C(1)};
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    if (a.largest != a.largest || b.sum == C(0)) return a;
    if (b.largest != b.largest || a.sum == C(0)) return b;
    if (a.largest == b.largest) return {a.largest, a.sum + b.sum};
    return a.largest > b.largest
               ? State{a.largest, a.sum + b.sum * exp(b.largest - a.largest)}
               : State{b.largest, b.sum + a.sum * exp(a.largest - b.largest)};
  }
  __device__ __forceinline__ void Write(char* out, int64_t i, State s) const {
    // An infinity is the result itself.
    const C result =
        s.largest - s.largest == C(0) ? log(s.sum) + s.largest : s.largest;
    reinterpret_cast<Element*>(out)[i] = Store<Element>(result);
  }
};

void VarInto(const KernelContext& ctx, const Tensor& x,
             std::span<const int64_t> axis, bool unbiased, bool root,
             Tensor* out) {
  const uint64_t axes = ReducedAxes(x, axis);
  const double divisor = static_cast<double>(
      std::max<int64_t>(0, ReducedCount(x, axes) - (unbiased ? 1 : 0)));
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    Reduce(ctx, Moments<T>{divisor, root}, x, axes, out->data<char>());
  });
}

}  // namespace

void Var(const KernelContext& ctx, const Tensor& x,
         std::span<const int64_t> axis, bool unbiased, bool, Tensor* out) {
  VarInto(ctx, x, axis, unbiased, /*root=*/false, out);
}

void Std(const KernelContext& ctx, const Tensor& x,
         std::span<const int64_t> axis, bool unbiased, bool, Tensor* out) {
  VarInto(ctx, x, axis, unbiased, /*root=*/true, out);
}

void Logsumexp(const KernelContext& ctx, const Tensor& x,
               std::span<const int64_t> axis, bool, Tensor* out) {
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    Reduce(ctx, LogOfExpSum<T>{}, x, ReducedAxes(x, axis), out->data<char>());
  });
}

}  // namespace proa::inline v0::ops::cuda
