// The three convolutions of any dims as plain loops: what is small or mostly
// padding in float64, and float32 where oneDNN has no kernel. The definition of
// what convolution means here; not fast.
#ifndef PROA_OPS_NN_CONV_LOOPS_H_
#define PROA_OPS_NN_CONV_LOOPS_H_

#include "ops/nn/conv_geometry.h"

namespace proa::inline v0::ops {

// y[n, o, i, j] = bias[o] + sum over c, p, q of
//   x[n, c, i * stride + p * dilation - pad, ...] * weight[o, c, p, q]
// within the channels of o's group. T is float or double; `bias` may be null.
template <typename T>
void ConvLoops(const ConvGeometry& g, const T* x, const T* weight,
               const T* bias, T* y);
// The two adjoints: x from y and weight, weight from x and y.
template <typename T>
void ConvInputGradLoops(const ConvGeometry& g, T* x, const T* weight,
                        const T* y);
template <typename T>
void ConvWeightGradLoops(const ConvGeometry& g, const T* x, T* weight,
                         const T* y);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_LOOPS_H_
