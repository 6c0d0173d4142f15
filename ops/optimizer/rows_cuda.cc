#include "ops/optimizer/rows_cuda.h"

#include <algorithm>

#include "tensor/error.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::ops::cuda {

bool AnyRows(std::span<const Tensor> grads) {
  return std::any_of(grads.begin(), grads.end(),
                     [](const Tensor& g) { return IsRowSparse(g); });
}

void CheckRate(const char* op, const Tensor& lr) {
  PROA_REQUIRE(lr.numel() == 1 && (lr.dtype() == DType::kFloat32 ||
                                   lr.dtype() == DType::kFloat64),
               op, ": lr must be one number of float32 or float64; it is ",
               Describe(lr));
}

}  // namespace proa::inline v0::ops::cuda
