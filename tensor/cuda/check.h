// Calls of the CUDA runtime: errors that throw, and the device of a thread.
//
//   CheckCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
//
// For sources of the CUDA backend only.
#ifndef PROA_TENSOR_CUDA_CHECK_H_
#define PROA_TENSOR_CUDA_CHECK_H_

#include <cuda_runtime_api.h>

namespace proa::inline v0 {

// Throws Error: kResourceExhausted for a device out of memory, kInternal for
// the rest. After an error that only a new process mends (a bad address in a
// kernel) it says so. An error of a kernel shows in a later call, so `call` may
// be innocent.
[[noreturn]] void FailCuda(cudaError_t status, const char* call);

inline void CheckCuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) [[unlikely]]
    FailCuda(status, call);
}

// Makes `device` the one that this thread's calls go to.
inline void UseCudaDevice(int device) {
  int now = -1;
  if (cudaGetDevice(&now) == cudaSuccess && now == device) [[likely]]
    return;
  CheckCuda(cudaSetDevice(device), "cudaSetDevice");
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_CUDA_CHECK_H_
