// Convolutions and their gradients by cuDNN.
//
// Algorithms are what cuDNN's heuristics put first among those that give the
// same bits each time and compute in float (TF32 only where
// ops/primitives/cuda/precision.h allows it); the choice is kept for each
// geometry, thread and device.
#ifndef PROA_OPS_CUDNN_CONVOLUTION_H_
#define PROA_OPS_CUDNN_CONVOLUTION_H_

#include <cstdint>

#include "ops/kernel.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops::cudnn {

// Which of x, weight and y is computed from the other two.
enum class ConvWanted { kOutput, kInput, kWeight };

// x is [batch, in_channels, in...], y is [batch, out_channels, out...], weight
// is [out_channels, in_channels / groups, kernel...]; all dense, in this order
// or all with their channels last.
struct ConvProblem {
  ConvWanted wanted;
  DType dtype;
  bool channels_last;
  int dims;  // spatial ones, 2 or 3
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3];
  int64_t pad_before[3], pad_after[3];
};

// False, with nothing done, if cuDNN has no such algorithm.
bool Convolve(const KernelContext& ctx, const ConvProblem& problem, void* x,
              void* weight, void* y);

}  // namespace proa::inline v0::ops::cudnn

#endif  // PROA_OPS_CUDNN_CONVOLUTION_H_
