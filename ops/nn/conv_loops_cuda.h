// Convolution by plain loops on a GPU, a thread for each element of the result:
// for what cuDNN refuses (sizes beyond 32 bits, odd geometries in float64).
#ifndef PROA_OPS_NN_CONV_LOOPS_CUDA_H_
#define PROA_OPS_NN_CONV_LOOPS_CUDA_H_

#include "ops/cudnn/convolution.h"
#include "ops/kernel.h"

namespace proa::inline v0::ops::cuda {

// x and y have channels last, `weight` is [out, in / groups, kernel...]; the
// problem's sizes behind its dims are 1. Sums are taken in one order each time.
void ConvLoops(const KernelContext& ctx, const cudnn::ConvProblem& problem,
               void* x, void* weight, void* y);

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_NN_CONV_LOOPS_CUDA_H_
