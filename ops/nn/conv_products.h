// The three convolutions in float64 as products of matrices: the inputs of some
// outputs are laid out as rows, a tile of them at a time.
#ifndef PROA_OPS_NN_CONV_PRODUCTS_H_
#define PROA_OPS_NN_CONV_PRODUCTS_H_

#include "ops/nn/conv_geometry.h"

namespace proa::inline v0::ops {

// Whether that is faster than the loops (conv_loops.h): the work is not tiny,
// and what is multiplied is mostly no padding.
bool SuitsConvProducts(const ConvGeometry& g);

// As ConvLoops and its adjoints, of images with their channels last. Padding is
// multiplied as zeros.
void ConvProducts(const ConvGeometry& g, const double* x, const double* weight,
                  const double* bias, double* y);
void ConvInputGradProducts(const ConvGeometry& g, double* x,
                           const double* weight, const double* y);
void ConvWeightGradProducts(const ConvGeometry& g, const double* x,
                            double* weight, const double* y);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_PRODUCTS_H_
