// The weight gradient as products of matrices, one for each tap.
#ifndef PROA_OPS_NN_WEIGHT_GRAD_PRODUCTS_H_
#define PROA_OPS_NN_WEIGHT_GRAD_PRODUCTS_H_

#include "ops/nn/conv_geometry.h"
#include "ops/nn/conv_onednn.h"

namespace proa::inline v0::ops {

// Whether that is faster than oneDNN's convolution, which took 1.7 times as
// long for lines of 256 channels, 500 places and 3 taps (AVX2).
bool SuitsProducts(const ConvGeometry& g);

// weight[o, i, q] = sum over images and places p of
//     y[p, o] * x[p * stride + q * dilation - pad_before, i]
// in float32, of one group.
void WeightGradByProducts(const ConvGeometry& g, const ConvData& data);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_WEIGHT_GRAD_PRODUCTS_H_
