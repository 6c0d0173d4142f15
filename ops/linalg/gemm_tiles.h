// Gemm of bfloat16 in tiles of AMX.
//
// oneDNN 2.6 reaches half of the rate of the tiles where it may use one thread
// only, and two thirds of it where sums have thousands of elements; and the
// order of its sums over more than 768 depends on the number of threads.
#ifndef PROA_OPS_LINALG_GEMM_TILES_H_
#define PROA_OPS_LINALG_GEMM_TILES_H_

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/gemm_then.h"

namespace proa::inline v0::ops {

// Whether the product is computed in tiles: where sums have whole ones, and B
// is kept in their order, or A has so many rows that bringing it into that is
// little work beside the product.
bool SuitsTiles(const GemmProblem& p);

// Such a product. Calls `done` for each part of C on the thread that computed
// it.
void RunInTiles(const GemmProblem& p,
                absl::FunctionRef<void(const GemmPart& part)> done);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_TILES_H_
