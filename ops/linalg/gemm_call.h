// One call of oneDNN for a matrix product, its primitive found or made.
#ifndef PROA_OPS_LINALG_GEMM_CALL_H_
#define PROA_OPS_LINALG_GEMM_CALL_H_

#include <cstdint>

#include "ops/linalg/gemm.h"

namespace proa::inline v0::ops {

// oneDNN takes 12 dims, its fast kernels fewer; more batch dims are rare.
constexpr int kMaxBatchDims = 4;

// Operands can be read in place. `c_row_stride` is more than n where C is a
// part of the columns of a matrix; then there is no batch. False if oneDNN has
// no kernel, never for float32.
bool CallGemm(const GemmProblem& p, int64_t c_row_stride);

// The same with B, which is p.weight, kept in whatever order is fastest; C is
// dense.
bool CallGemmOfKept(const GemmProblem& p);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_CALL_H_
