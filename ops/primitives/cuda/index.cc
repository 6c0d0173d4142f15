#include "ops/primitives/cuda/index.h"

#include <string>

#include "tensor/error.h"

namespace proa::inline v0::ops::cuda {

RowIndex IndexOf(const KernelContext& ctx, const char* op, const Tensor& index,
                 int64_t n, int dim, bool negative) {
  if (index.dtype() != DType::kInt32 && index.dtype() != DType::kInt64) {
    ThrowTypeError(std::string(op) +
                   ": indices must be int32 or int64; index is " +
                   Describe(index));
  }
  return {index.raw_data(), index.dtype() == DType::kInt64, index.numel(),
          IndexBounds{.op = op,
                      .n = n,
                      .dim = dim,
                      .negative = negative,
                      .sink = CudaFaultSinkOf(ctx.place.index)}};
}

RowIndex ResolvedIndex(const int64_t* rows, int64_t count, int64_t n) {
  return {rows, true, count, IndexBounds{.n = n}};
}

}  // namespace proa::inline v0::ops::cuda
