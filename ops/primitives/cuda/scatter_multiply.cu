#include "ops/primitives/cuda/reduce_rows.cuh"
#include "ops/primitives/cuda/scatter.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cuda {
namespace {

struct Multiply {
  template <class C>
  static __device__ C Neutral() {
    return C{1};
  }
  template <class C>
  static __device__ C Apply(C a, C b) {
    if constexpr (sizeof(C) == 2) {
      // uint16_t: the product would be that of ints, which must not overflow.
      return static_cast<C>(static_cast<uint32_t>(a) * b);
    } else {
      return static_cast<C>(a * b);
    }
  }
};

}  // namespace

void ScatterMulRows(const KernelContext& ctx, DType dtype, int64_t outer,
                    int64_t inner, const SortedRows& index, const void* src,
                    void* out) {
  const auto run = [&]<class M, class C>() {
    ReduceRows<M, C, Multiply>(ctx, outer, inner, index, src, out);
  };
  switch (dtype) {
    case DType::kUInt8:
    case DType::kInt8:
      return run.operator()<uint8_t, uint8_t>();
    case DType::kInt16:
      return run.operator()<uint16_t, uint16_t>();
    case DType::kInt32:
      return run.operator()<uint32_t, uint32_t>();
    case DType::kInt64:
      return run.operator()<uint64_t, uint64_t>();
    case DType::kFloat16:
      return run.operator()<__half, float>();
    case DType::kBFloat16:
      return run.operator()<__nv_bfloat16, float>();
    case DType::kFloat32:
      return run.operator()<float, float>();
    case DType::kFloat64:
      return run.operator()<double, double>();
    default:
      FailArgument("scatter-multiply: no gpu kernel for ",
                   std::string(Name(dtype)));
  }
}

}  // namespace proa::inline v0::ops::cuda
