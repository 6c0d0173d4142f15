// What steps of optimizers on a GPU look at before they begin, and the way that
// gradients of a few rows go.
#ifndef PROA_OPS_OPTIMIZER_ROWS_CUDA_H_
#define PROA_OPS_OPTIMIZER_ROWS_CUDA_H_

#include <span>
#include <vector>

#include "ops/definition.h"
#include "ops/front_door.h"
#include "ops/value.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {

// Whether one of the gradients is row-sparse: the step then runs on the host,
// with copies both ways.
bool AnyRows(std::span<const Tensor> grads);

// Throws unless `lr` is one number of float32 or float64.
void CheckRate(const char* op, const Tensor& lr);

inline Value BoxArgument(std::span<const Tensor> list) {
  return Value(std::vector<Tensor>(list.begin(), list.end()));
}
template <class T>
Value BoxArgument(const T& v) {
  return Value(v);
}

// Calls `op` on the host; what it changes there is copied back.
template <class... Args>
void StepOnHost(const OpDefinition& op, Place place, const Args&... args) {
  const Value boxed[] = {BoxArgument(args)...};
  CallOnHost(op, place, boxed, {});
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_OPTIMIZER_ROWS_CUDA_H_
