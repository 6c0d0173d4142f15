// cuBLAS: handles, and errors that throw.
#ifndef PROA_OPS_PRIMITIVES_CUDA_BLAS_H_
#define PROA_OPS_PRIMITIVES_CUDA_BLAS_H_

#include <cublasLt.h>
#include <cublas_v2.h>

#include "ops/kernel.h"

namespace proa::inline v0::ops::cuda {

[[noreturn]] void FailBlas(cublasStatus_t status, const char* call);

inline void CheckBlas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    FailBlas(status, call);
}

// This thread's handle for the device of the context, which becomes current; it
// works on the context's stream.
cublasHandle_t BlasOf(const KernelContext& ctx);
// The same for products with epilogues; the stream goes into each call.
cublasLtHandle_t BlasLtOf(const KernelContext& ctx);

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_BLAS_H_
