// Where elements of strided tensors lie, computed from flat positions in device
// code without slow divisions.
#ifndef PROA_TENSOR_CUDA_OFFSETS_H_
#define PROA_TENSOR_CUDA_OFFSETS_H_

#include <cstdint>

namespace proa::inline v0::cuda {

// n / d for n < 2^31 by a multiplication and a shift. Source: Granlund,
// Montgomery, "Division by invariant integers using multiplication", 1994.
struct Divider {
  uint32_t divisor = 1, multiplier = 1, shift = 0;

  Divider() = default;
  explicit Divider(uint32_t d) : divisor(d) {
    while ((uint64_t{1} << shift) < d) ++shift;
    multiplier =
        static_cast<uint32_t>((((uint64_t{1} << shift) - d) << 32) / d + 1);
  }
#ifdef __CUDACC__
  __device__ __forceinline__ uint32_t Quotient(uint32_t n) const {
    return (__umulhi(n, multiplier) + n) >> shift;
  }
#endif
};

// Dims that remain after PlanIteration has merged what it can; deeper ones
// are made contiguous first.
inline constexpr int kMaxDims = 10;

// Byte offsets of `kOperands` operands at a flat position (dims[0] fastest).
template <int kOperands>
struct Offsets {
  int rank = 1;
  Divider dims[kMaxDims];
  int64_t strides[kOperands][kMaxDims] = {};

#ifdef __CUDACC__
  __device__ __forceinline__ void At(uint32_t position,
                                     int64_t (&offset)[kOperands]) const {
#pragma unroll
    for (int op = 0; op < kOperands; ++op) offset[op] = 0;
#pragma unroll
    for (int d = 0; d < kMaxDims; ++d) {
      if (d == rank - 1) {
#pragma unroll
        for (int op = 0; op < kOperands; ++op) {
          offset[op] += position * strides[op][d];
        }
        return;
      }
      const uint32_t q = dims[d].Quotient(position);
      const uint32_t r = position - q * dims[d].divisor;
#pragma unroll
      for (int op = 0; op < kOperands; ++op) offset[op] += r * strides[op][d];
      position = q;
    }
  }
#endif
};

}  // namespace proa::inline v0::cuda

#endif  // PROA_TENSOR_CUDA_OFFSETS_H_
