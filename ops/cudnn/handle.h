// cuDNN: handles, and errors that throw.
#ifndef PROA_OPS_CUDNN_HANDLE_H_
#define PROA_OPS_CUDNN_HANDLE_H_

#include <cudnn.h>

#include "ops/kernel.h"

namespace proa::inline v0::ops::cudnn {

// Throws Error: kResourceExhausted for a device out of memory, kInternal else.
[[noreturn]] void FailCudnn(cudnnStatus_t status, const char* call);

inline void CheckCudnn(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) [[unlikely]]
    FailCudnn(status, call);
}

// This thread's handle for the device of the context, which becomes current; it
// works on the context's stream.
cudnnHandle_t CudnnOf(const KernelContext& ctx);

}  // namespace proa::inline v0::ops::cudnn

#endif  // PROA_OPS_CUDNN_HANDLE_H_
