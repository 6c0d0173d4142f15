// float32 products with weights of programs that predict, which are kept in
// panels of columns.
#ifndef PROA_OPS_LINALG_GEMM_PANELS_H_
#define PROA_OPS_LINALG_GEMM_PANELS_H_

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/gemm_then.h"

namespace proa::inline v0::ops {

// Whether B is a weight of a program that predicts, to be kept in panels of
// columns side by side: where rows of a weight lie far apart, reading it takes
// up to half of the time of a product with few rows. Only of weights that lie
// in a file, whose pages are then forgotten: others would take memory twice.
// One row reads a weight where it lies, which processes share.
bool IsKeptInPanels(const GemmProblem& p);

// Such a product. Calls `done` for each piece of C on the thread that computed
// it.
void RunInPanels(const GemmProblem& p,
                 absl::FunctionRef<void(const GemmPart& part)> done);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_PANELS_H_
