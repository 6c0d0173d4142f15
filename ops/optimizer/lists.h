// Checks of the lists of tensors that an optimizer's step goes through.
#ifndef PROA_OPS_OPTIMIZER_LISTS_H_
#define PROA_OPS_OPTIMIZER_LISTS_H_

#include <span>

#include "tensor/tensor.h"

namespace proa::inline v0::ops::optimizer {

// Throws unless `list` has a contiguous tensor beside each of `params`, of its
// shape and dtype. `params` itself must be contiguous; it is checked with every
// list.
void CheckBeside(const char* op, std::span<const Tensor> params,
                 const char* name, std::span<const Tensor> list);

// The same for gradients, which may be row-sparse, and of 16 bits where the
// parameter is float32.
void CheckGradients(const char* op, std::span<const Tensor> params,
                    std::span<const Tensor> grads);

// Throws unless `rounded` is empty, or has a contiguous 16-bit float tensor
// beside each of `params`, which are float32 then.
void CheckRounded(const char* op, std::span<const Tensor> params,
                  std::span<const Tensor> rounded);

// Throws unless all of `list` are of a floating-point type.
void CheckFloating(const char* op, const char* name,
                   std::span<const Tensor> list);

// Throws unless all of `xs` are contiguous floats and `found_inf` is one bool.
void CheckUnscale(const char* op, std::span<const Tensor> xs,
                  const Tensor& found_inf);

// Throws unless `list` has one float32 element for each of `params`; where
// `wide`, one of float64 beside a float64 parameter will do.
void CheckPowers(const char* op, std::span<const Tensor> params,
                 const char* name, std::span<const Tensor> list, bool wide);

// A power that has been checked, and its next value: times beta.
double PowerOf(const Tensor& power);
void RaisePower(const Tensor& power, double beta);

// The learning rate of one element; throws for more.
double ReadRate(const char* op, const Tensor& lr);

}  // namespace proa::inline v0::ops::optimizer

#endif  // PROA_OPS_OPTIMIZER_LISTS_H_
