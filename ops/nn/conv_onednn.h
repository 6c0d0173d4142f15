// The three convolutions through oneDNN: float32 and, where the machine has it,
// bfloat16. Tensors are dense in the order that the geometry says; nothing is
// empty.
#ifndef PROA_OPS_NN_CONV_ONEDNN_H_
#define PROA_OPS_NN_CONV_ONEDNN_H_

#include "ops/nn/conv_geometry.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

// Raw pointers of one convolution: inputs and the output alike. `bias` may be
// null.
struct ConvData {
  DType dtype;
  void* x;
  void* weight;
  void* bias;
  void* y;
};

// Each is false, with nothing done, if oneDNN has no kernel for the dtype here.
// y = x * weight + bias
bool ConvOneDnn(const ConvGeometry& g, const ConvData& data);
// x from y and weight (the gradient with respect to the input)
bool ConvInputGradOneDnn(const ConvGeometry& g, const ConvData& data);
// weight from x and y (the gradient with respect to the weight)
bool ConvWeightGradOneDnn(const ConvGeometry& g, const ConvData& data);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_ONEDNN_H_
