// Convolutions in float32 that give few channels, with pixels as lanes: oneDNN
// has channels as lanes, of which most would be empty.
#ifndef PROA_OPS_NN_FEW_CHANNELS_H_
#define PROA_OPS_NN_FEW_CHANNELS_H_

#include "ops/nn/conv_geometry.h"
#include "ops/nn/conv_onednn.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

// Whether that is faster: a machine with vectors of 16 has them for up to 6
// channels. By what an image and its window are alone, so that parts of a batch
// or of the rows are computed as the whole is.
bool SuitsFewChannels(const ConvGeometry& g, DType dtype);

// y = x * weight + bias. If `adjoint` is set, the weight is that of the
// convolution whose input gradient this is: [in channels, out channels, taps]
// with its taps turned round.
void ConvToFewChannels(const ConvGeometry& g, const Tensor& x,
                       const Tensor& weight, bool adjoint, const Tensor& bias,
                       const Tensor& y);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_FEW_CHANNELS_H_
