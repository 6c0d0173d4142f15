// Rows taken by index on a GPU: the data movement under gather, embedding,
// index_get. Operands are contiguous [outer, n, row]. See index.h for indices
// out of range.
#ifndef PROA_OPS_PRIMITIVES_CUDA_GATHER_H_
#define PROA_OPS_PRIMITIVES_CUDA_GATHER_H_

#include <cstdint>

#include "ops/kernel.h"
#include "ops/primitives/cuda/index.h"

namespace proa::inline v0::ops::cuda {

// out[o, k] = x[o, index[k]], rows of `row_bytes` bytes; zeros where the index
// names none. Bound by the memory's bandwidth.
void GatherRows(const KernelContext& ctx, int64_t outer, int64_t row_bytes,
                const RowIndex& index, const void* x, void* out);

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_GATHER_H_
