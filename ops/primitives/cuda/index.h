// Indices on a GPU: integer tensors, or lists that kernels have made of them,
// whose values name rows [0, n).
//
// Values are looked at where they are used. One out of range is never an
// address: it is reported (tensor/cuda/fault.h), reads zeros and writes
// nothing.
#ifndef PROA_OPS_PRIMITIVES_CUDA_INDEX_H_
#define PROA_OPS_PRIMITIVES_CUDA_INDEX_H_

#include <cstdint>

#include "ops/kernel.h"
#include "tensor/cuda/fault.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {

struct IndexBounds {
  const char* op = nullptr;  // null: values outside of [0, n) mean "none"
  int64_t n = 0;
  int32_t dim = 0;
  bool negative = false;
  int64_t skipped = -1;  // that means "none" too
  CudaFaultSink sink = {};

#ifdef __CUDACC__
  // In [0, n), or -1 for none.
  __device__ __forceinline__ int64_t Resolve(int64_t value,
                                             int64_t position) const {
    if (static_cast<uint64_t>(value) < static_cast<uint64_t>(n)) [[likely]]
      return value == skipped ? -1 : value;
    if (op == nullptr) return -1;
    if (negative && value < 0 && value >= -n) return value + n;
    sink.Report({negative ? CudaFault::kIndex : CudaFault::kPlainIndex, dim, op,
                 value, position, n, 0.0});
    return -1;
  }
#endif
};

// int32 or int64 values on the device.
struct RowIndex {
  const void* data = nullptr;
  bool wide = true;  // int64
  int64_t count = 0;
  IndexBounds bounds;
};

// The elements of `index`, int32 or int64 and contiguous; throws TypeError for
// another dtype. Negative values count from the end if `negative` is set.
RowIndex IndexOf(const KernelContext& ctx, const char* op, const Tensor& index,
                 int64_t n, int dim, bool negative = true);

// Values that a kernel has resolved: -1 names none.
RowIndex ResolvedIndex(const int64_t* rows, int64_t count, int64_t n);

// Calls f(const int32_t*) or f(const int64_t*).
template <class F>
void VisitIndex(const RowIndex& index, F f) {
  if (index.wide) {
    f(static_cast<const int64_t*>(index.data));
  } else {
    f(static_cast<const int32_t*>(index.data));
  }
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_INDEX_H_
