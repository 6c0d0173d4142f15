// The pixels that a convolution with a kernel of one element and a stride looks
// at. With them in memory of their own it is one of stride 1, which is a matrix
// product.
//
// oneDNN 2.6 would do the same in scratch memory, some of whose kernels write
// past its end where the channels are no whole vector; so it is not asked to.
#ifndef PROA_OPS_NN_STRIDED_PIXELS_H_
#define PROA_OPS_NN_STRIDED_PIXELS_H_

#include "ops/nn/conv_geometry.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// A kernel of one element, and no padding.
bool IsPointwise(const ConvGeometry& g);
// The same with a stride.
bool IsStridedPointwise(const ConvGeometry& g);

// The same convolution of the pixels that are looked at: stride 1.
ConvGeometry OnTakenPixels(const ConvGeometry& g);

// x [N, H, W, C] at every stride-th row and column: [N, H', W', C]; likewise of
// 3 dims. Both are row-major.
Tensor TakePixels(const ConvGeometry& g, const Tensor& x);

// Its adjoint: x [N, H, W, C] is `pixels` [N, H', W', C] at every stride-th row
// and column, and zero elsewhere.
void SpreadPixels(const ConvGeometry& g, const Tensor& pixels, const Tensor& x);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_STRIDED_PIXELS_H_
