// Convolutions in float64 whose outputs see the one input at their own place:
// products of matrices, of images as they lie.
#ifndef PROA_OPS_NN_CONV_POINTWISE_H_
#define PROA_OPS_NN_CONV_POINTWISE_H_

#include <cstdint>

#include "ops/nn/conv_geometry.h"

namespace proa::inline v0::ops {

// Images, and how far apart in them images, neighbouring pixels and channels
// are, in elements.
struct PixelsOf {
  double* data = nullptr;
  int64_t image = 0, pixel = 1, channel = 1;

  // The same from one image to the next as from pixel to pixel.
  bool IsOneRow(int64_t pixels) const { return image == pixels * pixel; }
};

// Whether these functions compute the convolution.
bool IsPointwiseProduct(const ConvGeometry& g);

// As ConvLoops and its adjoints. Channels of what is computed lie side by side,
// and its images one behind the other. `bias` may be null.
void PointwiseConv(const ConvGeometry& g, const PixelsOf& x,
                   const double* weight, const double* bias, const PixelsOf& y);
void PointwiseInputGrad(const ConvGeometry& g, const PixelsOf& x,
                        const double* weight, const PixelsOf& y);
void PointwiseWeightGrad(const ConvGeometry& g, const PixelsOf& x,
                         double* weight, const PixelsOf& y);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_POINTWISE_H_
