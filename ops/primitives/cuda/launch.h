// What a CUDA kernel function begins and ends with: the stream that it works
// on, and a look at whether its kernels could be started.
#ifndef PROA_OPS_PRIMITIVES_CUDA_LAUNCH_H_
#define PROA_OPS_PRIMITIVES_CUDA_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "ops/kernel.h"
#include "tensor/cuda/check.h"

namespace proa::inline v0::ops::cuda {

// The stream of the context, whose device is made this thread's.
inline cudaStream_t StreamOf(const KernelContext& ctx) {
  UseCudaDevice(ctx.place.index);
  return reinterpret_cast<cudaStream_t>(ctx.stream());
}

// After a launch; `kernel` is for people.
inline void CheckLaunch(const char* kernel) {
  CheckCuda(cudaGetLastError(), kernel);
}

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Flat positions that kernels count in 32 bits.
inline constexpr int64_t kMostPositions = (int64_t{1} << 31) - 1;

// Multiprocessors of the current device.
int NumMultiprocessors();

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_LAUNCH_H_
