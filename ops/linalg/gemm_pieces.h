// How a matrix product is divided among threads: into pieces that follow from
// its sizes alone, each computed by one thread, so that the bits of the result
// are the same for any number of threads.
#ifndef PROA_OPS_LINALG_GEMM_PIECES_H_
#define PROA_OPS_LINALG_GEMM_PIECES_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm.h"

namespace proa::inline v0::ops {

// The size of a piece: rows and columns of C, and how much of the sum over k.
struct GemmCut {
  int64_t rows = 0, columns = 0, depth = 0;
};

// Pieces of nearly one size, so that threads have the same work: `down` of m,
// `across` of n, `deep` of k.
GemmCut EvenCut(int64_t m, int64_t n, int64_t k, int64_t down, int64_t across,
                int64_t deep);

// The pieces of one product of `p`'s batch.
int64_t GemmPieces(const GemmProblem& p, const GemmCut& cut);

// What pays on few threads and on many; one piece if the product is small or
// one of many. Of k only where there is too little of C to divide.
GemmCut CutBySizes(const GemmProblem& p);

// Computes a float32 product, or a batch of them, of operands with any strides
// by calls of `run` for its pieces, in parallel. `run` gets a problem without a
// batch whose rows of C lie c_row_stride elements apart.
void RunInPieces(
    const GemmProblem& p, const GemmCut& cut,
    absl::FunctionRef<void(const GemmProblem& piece, int64_t c_row_stride)>
        run);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_PIECES_H_
