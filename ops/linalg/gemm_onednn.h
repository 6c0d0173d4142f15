// Matrix products through oneDNN: float32 and, where the machine has it,
// bfloat16.
#ifndef PROA_OPS_LINALG_GEMM_ONEDNN_H_
#define PROA_OPS_LINALG_GEMM_ONEDNN_H_

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/gemm_then.h"

namespace proa::inline v0::ops {

// `p` is simplified and not empty. Operands that are dense along rows or
// columns are read in place, others are packed first. False if oneDNN has no
// kernel for the dtype on this machine (never for float32).
bool GemmOneDnn(const GemmProblem& p);

// GemmOneDnn of float32, if it would compute parts of C one by one: calls
// `done` for each, on its thread. False, and nothing is computed, if it would
// not.
bool GemmInPieces(const GemmProblem& p,
                  absl::FunctionRef<void(const GemmPart& part)> done);

// Whether oneDNN is the faster way for this product of bfloat16. Where a CPU
// has no quick instruction for it, which oneDNN then imitates, copies in
// float32 are, unless a matrix is so thin that copying costs more.
bool SuitsBFloat16(const GemmProblem& p);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_ONEDNN_H_
