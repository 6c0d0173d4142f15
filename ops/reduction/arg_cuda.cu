// Kernels of arg.yaml.
#include <cstdint>
#include <optional>

#include "ops/primitives/cuda/reduce.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "ops/reduction/arg_kernels.h"

namespace proa::inline v0::ops::cuda {
namespace {

// The first of equal ones, and the first NaN, wins.
template <class T, bool kLargest>
struct ArgOf {
  using Element = Memory<T>;
  using C = Compute<T>;
  struct State {
    C value;
    int64_t place;  // -1: none yet
  };
  bool wide;  // int64 results, or int32

  __device__ __forceinline__ State Start() const { return {C(0), -1}; }
  __device__ __forceinline__ State Take(Element v, int64_t i) const {
    return {Load<C>(v), i};
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    if (a.place < 0) return b;
    if (b.place < 0) return a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    bool a_wins = kLargest ? a.value > b.value : a.value < b.value;
    if (a_nan || b_nan) a_wins = a_nan && !b_nan;
    const bool equal = a_nan ? b_nan : a.value == b.value;
    if (equal) a_wins = a.place < b.place;
    return a_wins ? a : b;
  }
  __device__ __forceinline__ void Write(char* out, int64_t i, State s) const {
    if (wide) {
      reinterpret_cast<int64_t*>(out)[i] = s.place;
    } else {
      reinterpret_cast<int32_t*>(out)[i] = static_cast<int32_t>(s.place);
    }
  }
};

template <bool kLargest>
void Find(const KernelContext& ctx, const Tensor& x,
          std::optional<int64_t> axis, Tensor* out) {
  uint64_t axes = ReducedAxes(x, {});
  if (axis.has_value() && x.rank() > 0) {
    const int64_t only[] = {*axis};
    axes = ReducedAxes(x, only);
  }
  const bool wide = out->dtype() == DType::kInt64;
  VisitReal(x.dtype(), [&]<class T>(Tag<T>) {
    Reduce(ctx, ArgOf<T, kLargest>{wide}, x, axes, out->data<char>());
  });
}

}  // namespace

void Argmax(const KernelContext& ctx, const Tensor& x,
            std::optional<int64_t> axis, bool, DType, Tensor* out) {
  Find<true>(ctx, x, axis, out);
}

void Argmin(const KernelContext& ctx, const Tensor& x,
            std::optional<int64_t> axis, bool, DType, Tensor* out) {
  Find<false>(ctx, x, axis, out);
}

}  // namespace proa::inline v0::ops::cuda
