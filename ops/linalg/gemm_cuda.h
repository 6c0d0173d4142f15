// Gemm on a GPU, by cuBLAS.
#ifndef PROA_OPS_LINALG_GEMM_CUDA_H_
#define PROA_OPS_LINALG_GEMM_CUDA_H_

#include "ops/kernel.h"
#include "ops/linalg/gemm.h"

namespace proa::inline v0::ops::cuda {

// As ops::Gemm (gemm.h), for float16, bfloat16, float32 and float64; pointers
// are to memory of the context's device. float16 and bfloat16 are added up in
// float32. Operands of which neither stride is 1 are copied first. The bias is
// added by the product's own kernel where cuBLASLt has one.
void Gemm(const KernelContext& ctx, GemmProblem& problem);

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_LINALG_GEMM_CUDA_H_
