// ReducePlan: which dims of a tensor are folded and which are kept, for device
// code.
#ifndef PROA_OPS_PRIMITIVES_CUDA_REDUCE_PLAN_H_
#define PROA_OPS_PRIMITIVES_CUDA_REDUCE_PLAN_H_

#include <cstdint>
#include <span>

#include "ops/primitives/cuda/plan.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {

struct ReducePlan {
  int64_t results = 0;  // product of the kept dims
  int64_t count = 0;    // of the reduced ones: elements that go into a result
  Offsets<1> kept;      // bytes, results in row-major order
  Offsets<1> reduced;
  // Elements of one result lie closer than those of two.
  bool rows = true;
};

// The set of axes as bits; `axis` is as in the schemas: empty means all,
// negative counts from the end. Inference has checked it.
uint64_t ReducedAxes(const Tensor& x, std::span<const int64_t> axis);

// Elements that go into one result.
int64_t ReducedCount(const Tensor& x, uint64_t axes);

// Throws Error where, after merging, more dims remain than offsets have, or
// more than 2^31 elements over several of them.
ReducePlan PlanReduction(const Tensor& x, uint64_t axes);

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_REDUCE_PLAN_H_
