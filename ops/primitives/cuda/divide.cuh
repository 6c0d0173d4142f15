// Flat positions of any size cut into coordinates.
#ifndef PROA_OPS_PRIMITIVES_CUDA_DIVIDE_CUH_
#define PROA_OPS_PRIMITIVES_CUDA_DIVIDE_CUH_

#include <algorithm>
#include <cstdint>

#include "ops/primitives/cuda/launch.h"
#include "tensor/cuda/offsets.h"

namespace proa::inline v0::ops::cuda {

// n / d for 0 <= n < `end`: without a division where all are below 2^31.
struct FlatDivider {
  proa::cuda::Divider small;
  int64_t divisor = 1;
  bool wide = false;

  FlatDivider(int64_t d, int64_t end) : divisor(d), wide(end > kMostPositions) {
    if (!wide) {
      small = proa::cuda::Divider(
          static_cast<uint32_t>(std::clamp<int64_t>(d, 1, int64_t{1} << 31)));
    }
  }
#ifdef __CUDACC__
  __device__ __forceinline__ int64_t Quotient(int64_t n) const {
    return wide ? n / divisor
                : int64_t{small.Quotient(static_cast<uint32_t>(n))};
  }
#endif
};

// The most bytes, of 16, 8, 4, 2, 1, that divide `bytes` and the addresses.
inline int WidestUnit(int64_t bytes, const void* a, const void* b) {
  const uint64_t all = static_cast<uint64_t>(bytes) |
                       reinterpret_cast<uintptr_t>(a) |
                       reinterpret_cast<uintptr_t>(b) | 16;
  return static_cast<int>(all & -all);
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_DIVIDE_CUH_
