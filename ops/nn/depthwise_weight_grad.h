// The weight gradient of a depthwise convolution: each channel by itself.
//
// oneDNN has a kernel for windows of up to three columns. For others it fills
// blocks of 16 x 16 channels of which only the diagonal counts: memory of 256
// times the weight, and ten times the time of the loops here.
#ifndef PROA_OPS_NN_DEPTHWISE_WEIGHT_GRAD_H_
#define PROA_OPS_NN_DEPTHWISE_WEIGHT_GRAD_H_

#include "ops/nn/conv_geometry.h"
#include "ops/nn/conv_onednn.h"

namespace proa::inline v0::ops {

bool IsDepthwise(const ConvGeometry& g);

// False if it surely has no such kernel for it.
bool OneDnnMayHaveDepthwise(const ConvGeometry& g);

// Of a depthwise one, of float32 or bfloat16 images.
void DepthwiseWeightGrad(const ConvGeometry& g, const ConvData& data);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_DEPTHWISE_WEIGHT_GRAD_H_
