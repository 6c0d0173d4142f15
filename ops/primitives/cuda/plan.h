// Offsets of the operands of a broadcast computation, for device code.
#ifndef PROA_OPS_PRIMITIVES_CUDA_PLAN_H_
#define PROA_OPS_PRIMITIVES_CUDA_PLAN_H_

#include <algorithm>

#include "ops/primitives/cpu/iteration.h"
#include "tensor/cuda/offsets.h"

namespace proa::inline v0::ops::cuda {

using proa::cuda::Divider;
using proa::cuda::kMaxDims;
using proa::cuda::Offsets;

// Of the first kOperands operands of `plan`, which has at most kMaxDims dims
// and 2^31 - 1 elements.
template <int kOperands>
Offsets<kOperands> OffsetsOf(const cpu::IterationPlan& plan) {
  Offsets<kOperands> offsets;
  offsets.rank = std::max(1, plan.rank);
  for (int d = 0; d < plan.rank; ++d) {
    offsets.dims[d] = Divider(static_cast<uint32_t>(plan.dims[d]));
    for (int op = 0; op < kOperands; ++op) {
      offsets.strides[op][d] = plan.strides[op][d];
    }
  }
  return offsets;
}

// Whether operand `op` is one element for all positions.
inline bool IsUniform(const cpu::IterationPlan& plan, int op) {
  for (int d = 0; d < plan.rank; ++d) {
    if (plan.strides[op][d] != 0 && plan.dims[d] != 1) return false;
  }
  return true;
}

// Cuts `plan` in two along its longest dim and calls `run` with both parts.
template <class Run>
void Halve(const cpu::IterationPlan& plan, const Run& run) {
  int d = 0;
  for (int i = 1; i < plan.rank; ++i) {
    if (plan.dims[i] > plan.dims[d]) d = i;
  }
  const int64_t half = plan.dims[d] / 2;
  cpu::IterationPlan part = plan;
  part.dims[d] = half;
  part.numel = plan.numel / plan.dims[d] * half;
  run(part);
  part.dims[d] = plan.dims[d] - half;
  part.numel = plan.numel - part.numel;
  for (int op = 0; op < plan.num_operands; ++op) {
    part.data[op] = plan.data[op] + half * plan.strides[op][d];
  }
  run(part);
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_PLAN_H_
