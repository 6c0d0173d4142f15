// What dtypes and reductions are called in NCCL, and which it has none for.
#ifndef PROA_DISTRIBUTED_NCCL_TYPES_H_
#define PROA_DISTRIBUTED_NCCL_TYPES_H_

#include <cstdint>
#include <optional>

#include "nccl.h"
#include "ops/collective/collective.h"
#include "tensor/dtype.h"

namespace proa::inline v0::distributed {

// How NCCL combines elements: `parts` of its numbers for each of ours, by `op`.
// Booleans are bytes of 0 and 1, complex numbers two real ones.
struct NcclReduction {
  ncclDataType_t type;
  ncclRedOp_t op;
  int64_t parts = 1;
};

// None where NCCL has no such numbers (int16) or no such operation (products of
// complex ones), and where the operation has no meaning (RequireFoldable).
std::optional<NcclReduction> NcclReductionOf(ReduceOp reduce, DType dtype);

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_NCCL_TYPES_H_
