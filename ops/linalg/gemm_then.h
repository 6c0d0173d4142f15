// A matrix product whose result is changed where it has been computed, for
// kernels of several ops in one.
#ifndef PROA_OPS_LINALG_GEMM_THEN_H_
#define PROA_OPS_LINALG_GEMM_THEN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace proa::inline v0::ops {

struct GemmProblem;

// Rows and columns of C, whose rows are those of all entries of the batch.
struct GemmPart {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// Gemm, then `done` for each part of C once it is complete: parts of large
// products of float32 on the threads that computed them, while they are in the
// cache, side by side; of others C as a whole, on the thread that calls.
void GemmThen(GemmProblem& problem,
              absl::FunctionRef<void(const GemmPart& part)> done);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_THEN_H_
