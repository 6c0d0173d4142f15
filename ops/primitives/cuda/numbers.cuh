// Elements in memory and in arithmetic: float16 and bfloat16 are computed in
// float, and converted by the hardware's instructions.
#ifndef PROA_OPS_PRIMITIVES_CUDA_NUMBERS_CUH_
#define PROA_OPS_PRIMITIVES_CUDA_NUMBERS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "ops/primitives/formula.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops::cuda {

// What an element of type T is computed in.
template <class T>
using Compute = ComputeType<T>;

// How an element of type T lies in memory.
template <class T>
struct MemoryOf {
  using type = T;
};
template <>
struct MemoryOf<float16> {
  using type = __half;
};
template <>
struct MemoryOf<bfloat16> {
  using type = __nv_bfloat16;
};
template <>
struct MemoryOf<bool> {
  using type = uint8_t;
};
template <class T>
using Memory = typename MemoryOf<T>::type;

// Memory<T> to C.
template <class C, class M>
__device__ __forceinline__ C Load(M v) {
  if constexpr (std::is_same_v<M, __half>) {
    return static_cast<C>(__half2float(v));
  } else if constexpr (std::is_same_v<M, __nv_bfloat16>) {
    return static_cast<C>(__bfloat162float(v));
  } else {
    return static_cast<C>(v);
  }
}
// C to Memory<T>, rounded once.
template <class M, class C>
__device__ __forceinline__ M Store(C v) {
  if constexpr (std::is_same_v<M, __half>) {
    if constexpr (std::is_same_v<C, double>) {
      return __double2half(v);
    } else {
      return __float2half_rn(static_cast<float>(v));
    }
  } else if constexpr (std::is_same_v<M, __nv_bfloat16>) {
    if constexpr (std::is_same_v<C, double>) {
      return __double2bfloat16(v);
    } else {
      return __float2bfloat16_rn(static_cast<float>(v));
    }
  } else {
    return static_cast<M>(v);
  }
}

// N elements that are read and written at once.
template <class M, int N>
struct alignas(sizeof(M) * N) Pack {
  M v[N];
};

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_NUMBERS_CUH_
