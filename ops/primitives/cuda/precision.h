// Whether products of float32 matrices may be formed of TF32 numbers (10 bits
// behind the point instead of 23), which tensor cores multiply many times as
// fast. Only where PROA_ALLOW_TF32=1 is set when the first of them is formed:
// without it results are those of float32. The one place for it; matrix
// products and convolutions look here.
#ifndef PROA_OPS_PRIMITIVES_CUDA_PRECISION_H_
#define PROA_OPS_PRIMITIVES_CUDA_PRECISION_H_

namespace proa::inline v0::ops::cuda {

bool Tf32Allowed();

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_PRECISION_H_
