// Runs the formula of a node in anomaly mode. Internal to this room; anomaly.h
// says what the mode is.
#ifndef PROA_AUTOGRAD_ANOMALY_CHECK_H_
#define PROA_AUTOGRAD_ANOMALY_CHECK_H_

#include <span>

#include "autograd/node.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// node.Backward(grads, input_grads). What it throws names the place of the
// forward call, as does the Error (kFailedPrecondition) for NaN or Inf in what
// it made.
void BackwardInAnomalyMode(Node& node, std::span<const Tensor> grads,
                           std::span<Tensor> input_grads);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_ANOMALY_CHECK_H_
