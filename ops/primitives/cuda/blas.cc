#include "ops/primitives/cuda/blas.h"

#include <array>

#include "ops/primitives/cuda/launch.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cuda {
namespace {

// Handles stay when their thread ends, since the driver may be gone before
// thread locals are.
struct Handles {
  std::array<cublasHandle_t, 64> blas = {};
  std::array<cublasLtHandle_t, 64> lt = {};
};
// On the heap: room for thread-local variables of a library is short.
Handles& OfThread() {
  static thread_local auto* handles = new Handles;
  return *handles;
}

}  // namespace

void FailBlas(cublasStatus_t status, const char* call) {
  Fail(status == CUBLAS_STATUS_ALLOC_FAILED
           ? absl::StatusCode::kResourceExhausted
           : absl::StatusCode::kInternal,
       "gpu: ", call, " failed: ", cublasGetStatusString(status));
}

cublasHandle_t BlasOf(const KernelContext& ctx) {
  const cudaStream_t stream = StreamOf(ctx);
  cublasHandle_t& handle =
      OfThread().blas[static_cast<size_t>(ctx.place.index)];
  if (handle == nullptr) CheckBlas(cublasCreate(&handle), "cublasCreate");
  CheckBlas(cublasSetStream(handle, stream), "cublasSetStream");
  return handle;
}

cublasLtHandle_t BlasLtOf(const KernelContext& ctx) {
  StreamOf(ctx);
  cublasLtHandle_t& handle =
      OfThread().lt[static_cast<size_t>(ctx.place.index)];
  if (handle == nullptr) CheckBlas(cublasLtCreate(&handle), "cublasLtCreate");
  return handle;
}

}  // namespace proa::inline v0::ops::cuda
