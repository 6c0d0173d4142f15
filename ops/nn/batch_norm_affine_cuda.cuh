// What batch normalization on a GPU shares between forward and backward: the
// scale and shift of each channel, and small tensors of any floating dtype that
// are written.
#ifndef PROA_OPS_NN_BATCH_NORM_AFFINE_CUDA_CUH_
#define PROA_OPS_NN_BATCH_NORM_AFFINE_CUDA_CUH_

#include <cstdint>

#include "ops/nn/rows_cuda.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {

// Elements of a floating tensor of any dtype, to be written.
struct FloatOut {
  char* data = nullptr;
  DType dtype = DType::kFloat32;

  FloatOut() = default;
  explicit FloatOut(const Tensor* t) {
    if (t == nullptr) return;
    data = static_cast<char*>(t->raw_data());
    dtype = t->dtype();
  }
  template <class V>
  __device__ __forceinline__ void Write(int64_t i, V v) const {
    if (data != nullptr) StoreAs(dtype, data, i, v);
  }
};

// scale and shift, so that x * scale + shift is what was normalized.
template <class C>
struct Affine {
  C scale, shift;
};
template <class C>
__device__ __forceinline__ Affine<C> AffineOf(int64_t c, C mean, C inv_std,
                                              const FloatArray& weight,
                                              const FloatArray& bias) {
  const C scale = inv_std * weight.At(c, C(1));
  return {scale, bias.At(c, C(0)) - mean * scale};
}

// `spread` is the variance, or 1 / standard deviation; `means` may be null.
template <class C>
__global__ void FindAffine(FloatArray mean, FloatArray spread, bool is_variance,
                           C epsilon, FloatArray weight, FloatArray bias,
                           int64_t channels, Affine<C>* affine, C* means) {
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  const C s = spread.At(c, C(1)), m = mean.At(c, C(0));
  affine[c] =
      AffineOf(c, m, is_variance ? C(1) / sqrt(s + epsilon) : s, weight, bias);
  if (means != nullptr) means[c] = m;
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_NN_BATCH_NORM_AFFINE_CUDA_CUH_
