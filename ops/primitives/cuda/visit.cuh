// A dtype that is known when a program runs becomes a type, and back.
#ifndef PROA_OPS_PRIMITIVES_CUDA_VISIT_CUH_
#define PROA_OPS_PRIMITIVES_CUDA_VISIT_CUH_

#include <cstdint>

#include "ops/primitives/cast_value.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "tensor/dtype.h"

namespace proa::inline v0::ops::cuda {

template <class T>
struct Tag {
  using type = T;
};

// visit(Tag<T>{}) for the element type of `dtype`, of float16, bfloat16, float
// and double. Others: nothing; the schema has refused them.
template <class Visit>
void VisitFloat(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kFloat16:
      return visit(Tag<float16>{});
    case DType::kBFloat16:
      return visit(Tag<bfloat16>{});
    case DType::kFloat32:
      return visit(Tag<float>{});
    case DType::kFloat64:
      return visit(Tag<double>{});
    default:
      return;
  }
}

// The same for all types but complex ones.
template <class Visit>
void VisitReal(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kBool:
      return visit(Tag<bool>{});
    case DType::kUInt8:
      return visit(Tag<uint8_t>{});
    case DType::kInt8:
      return visit(Tag<int8_t>{});
    case DType::kInt16:
      return visit(Tag<int16_t>{});
    case DType::kInt32:
      return visit(Tag<int32_t>{});
    case DType::kInt64:
      return visit(Tag<int64_t>{});
    default:
      return VisitFloat(dtype, visit);
  }
}

// For kernels that move elements without looking at them: an unsigned integer
// of `size` = 1, 2, 4 or 8 bytes, or 16 bytes.
struct alignas(16) Bytes16 {
  uint64_t words[2];
};
template <class Visit>
void VisitSize(int64_t size, const Visit& visit) {
  switch (size) {
    case 1:
      return visit(Tag<uint8_t>{});
    case 2:
      return visit(Tag<uint16_t>{});
    case 4:
      return visit(Tag<uint32_t>{});
    case 8:
      return visit(Tag<uint64_t>{});
    default:
      return visit(Tag<Bytes16>{});
  }
}

// Element i of `out` becomes `v`, converted to `dtype`, which is not complex.
template <class V>
__device__ __forceinline__ void StoreAs(DType dtype, char* out, int64_t i,
                                        V v) {
  switch (dtype) {
    case DType::kBool:
      reinterpret_cast<bool*>(out)[i] = CastValue<bool>(v);
      return;
    case DType::kUInt8:
      reinterpret_cast<uint8_t*>(out)[i] = CastValue<uint8_t>(v);
      return;
    case DType::kInt8:
      reinterpret_cast<int8_t*>(out)[i] = CastValue<int8_t>(v);
      return;
    case DType::kInt16:
      reinterpret_cast<int16_t*>(out)[i] = CastValue<int16_t>(v);
      return;
    case DType::kInt32:
      reinterpret_cast<int32_t*>(out)[i] = CastValue<int32_t>(v);
      return;
    case DType::kInt64:
      reinterpret_cast<int64_t*>(out)[i] = CastValue<int64_t>(v);
      return;
    case DType::kFloat16:
      reinterpret_cast<__half*>(out)[i] = Store<__half>(v);
      return;
    case DType::kBFloat16:
      reinterpret_cast<__nv_bfloat16*>(out)[i] = Store<__nv_bfloat16>(v);
      return;
    case DType::kFloat32:
      reinterpret_cast<float*>(out)[i] = static_cast<float>(v);
      return;
    default:
      reinterpret_cast<double*>(out)[i] = static_cast<double>(v);
      return;
  }
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_VISIT_CUH_
