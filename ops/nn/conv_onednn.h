// The three convolutions through oneDNN: float32 and, where the machine has it,
// bfloat16. Nothing is empty; the geometry has channels last and 2 or 3 dims.
//
// Images are never reordered. Of the algorithms that oneDNN has for them the
// fastest is taken (docs/notes/layouts.md): the input gradient of a convolution
// of stride 1 is the convolution with the turned and transposed weight, the
// weight gradient of a pointwise one is a matrix product.
//
// The same bits for any number of threads: weight gradients are divided by us
// (conv_weight_grad_onednn.cc), and so are convolutions that oneDNN computes by
// products of matrices, which it cuts by how many threads there are.
#ifndef PROA_OPS_NN_CONV_ONEDNN_H_
#define PROA_OPS_NN_CONV_ONEDNN_H_

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm_then.h"
#include "ops/nn/conv_geometry.h"
#include "ops/nn/conv_tiles.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// What follows a convolution.
struct ConvThen {
  // For parts of y, pixels of all images and their channels, that are complete,
  // on the thread that computed them.
  absl::FunctionRef<void(const GemmPart& part)> run;
  // Whether it has been called for all of them. Kernels that do not call it
  // leave that to their caller.
  bool done = false;
};

// The tensors of one convolution, inputs and the output alike: x and y are
// row-major [N, H, W, C] or [N, D, H, W, C], weight is contiguous, `bias` may
// be undefined.
struct ConvData {
  const Tensor& x;
  const Tensor& weight;
  const Tensor& bias;
  const Tensor& y;
  // Of y = x * weight + bias in float32 alone: undefined, or [out channels],
  // float64, what the weight of each channel is multiplied by.
  Tensor scale = {};
  // Of y = x * weight + bias alone, where FusesConvSum says so.
  ConvSum sum = {};
  // Of y = x * weight + bias alone: what follows, or null.
  ConvThen* then = nullptr;
  // Of y = x * weight + bias alone: y is a part of a result that was divided by
  // sizes already, and the caller in a SerialScope.
  bool is_part = false;
};

// Whether ConvOneDnn does what `sum` says, in registers.
bool FusesConvSum(const ConvGeometry& g, DType dtype);

// Each is false, with nothing done, if oneDNN has no kernel for the dtype here.
// y = x * weight + bias
bool ConvOneDnn(const ConvGeometry& g, const ConvData& data);
// x from y and weight (the gradient with respect to the input)
bool ConvInputGradOneDnn(const ConvGeometry& g, const ConvData& data);
// weight from x and y (the gradient with respect to the weight)
bool ConvWeightGradOneDnn(const ConvGeometry& g, const ConvData& data);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_ONEDNN_H_
