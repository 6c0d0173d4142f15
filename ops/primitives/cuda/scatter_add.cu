#include "ops/primitives/cuda/reduce_rows.cuh"
#include "ops/primitives/cuda/scatter.h"

namespace proa::inline v0::ops::cuda {
namespace {

struct Add {
  template <class C>
  static __device__ C Neutral() {
    return C{0};
  }
  template <class C>
  static __device__ C Apply(C a, C b) {
    return static_cast<C>(a + b);
  }
};
struct Or {
  template <class C>
  static __device__ C Neutral() {
    return C{0};
  }
  template <class C>
  static __device__ C Apply(C a, C b) {
    return static_cast<C>(a != 0 || b != 0);
  }
};

}  // namespace

void ScatterAddRows(const KernelContext& ctx, DType dtype, int64_t outer,
                    int64_t inner, const SortedRows& index, const void* src,
                    void* out) {
  const auto run =
      [&]<class M, class C, class Op, bool kVector>(int64_t elements) {
        ReduceRows<M, C, Op, kVector>(ctx, outer, elements, index, src, out);
      };
  switch (dtype) {
    case DType::kBool:
      return run.operator()<uint8_t, uint8_t, Or, false>(inner);
    case DType::kUInt8:
    case DType::kInt8:
      return run.operator()<uint8_t, uint8_t, Add, false>(inner);
    case DType::kInt16:
      return run.operator()<uint16_t, uint16_t, Add, false>(inner);
    case DType::kInt32:
      return run.operator()<uint32_t, uint32_t, Add, false>(inner);
    case DType::kInt64:
      return run.operator()<uint64_t, uint64_t, Add, false>(inner);
    case DType::kFloat16:
      return run.operator()<__half, float, Add, true>(inner);
    case DType::kBFloat16:
      return run.operator()<__nv_bfloat16, float, Add, true>(inner);
    case DType::kFloat32:
      return run.operator()<float, float, Add, true>(inner);
    case DType::kFloat64:
      return run.operator()<double, double, Add, true>(inner);
    // Sums of complex numbers are those of their parts.
    case DType::kComplex64:
      return run.operator()<float, float, Add, true>(2 * inner);
    case DType::kComplex128:
      return run.operator()<double, double, Add, true>(2 * inner);
  }
}

}  // namespace proa::inline v0::ops::cuda
