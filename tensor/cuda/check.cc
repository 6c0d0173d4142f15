#include "tensor/cuda/check.h"

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

// After these the driver refuses all further work of the process.
bool IsFinal(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidPc:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

}  // namespace

void FailCuda(cudaError_t status, const char* call) {
  cudaGetLastError();  // or the next call would report it once more
  Fail(status == cudaErrorMemoryAllocation
           ? absl::StatusCode::kResourceExhausted
           : absl::StatusCode::kInternal,
       "gpu: ", call, " failed: ", cudaGetErrorString(status), " (",
       cudaGetErrorName(status), ")",
       IsFinal(status)
           ? "; it may come from an earlier kernel (set CUDA_LAUNCH_BLOCKING=1 "
             "to see which), and the GPU can be used again in a new process "
             "only"
           : "");
}

}  // namespace proa::inline v0
