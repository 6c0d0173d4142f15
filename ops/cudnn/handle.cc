#include "ops/cudnn/handle.h"

#include <array>

#include "ops/primitives/cuda/launch.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cudnn {
namespace {

// Handles stay when their thread ends, since the driver may be gone before
// thread locals are.
// On the heap: room for thread-local variables of a library is short.
std::array<cudnnHandle_t, 64>& OfThread() {
  static thread_local auto* handles = new std::array<cudnnHandle_t, 64>{};
  return *handles;
}

}  // namespace

void FailCudnn(cudnnStatus_t status, const char* call) {
  Fail(status == CUDNN_STATUS_ALLOC_FAILED
           ? absl::StatusCode::kResourceExhausted
           : absl::StatusCode::kInternal,
       "gpu: ", call, " failed: ", cudnnGetErrorString(status));
}

cudnnHandle_t CudnnOf(const KernelContext& ctx) {
  const cudaStream_t stream = cuda::StreamOf(ctx);
  cudnnHandle_t& handle = OfThread()[static_cast<size_t>(ctx.place.index)];
  if (handle == nullptr) CheckCudnn(cudnnCreate(&handle), "cudnnCreate");
  CheckCudnn(cudnnSetStream(handle, stream), "cudnnSetStream");
  return handle;
}

}  // namespace proa::inline v0::ops::cudnn
