// Class labels on a GPU. One that is no class makes the result of its line NaN,
// and is thrown by the next call that waits for the device
// (tensor/cuda/fault.h).
#ifndef PROA_OPS_NN_LABELS_CUDA_CUH_
#define PROA_OPS_NN_LABELS_CUDA_CUH_

#include <cstdint>

#include "ops/kernel.h"
#include "ops/nn/class_labels.h"
#include "tensor/cuda/fault.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {

inline constexpr int64_t kNoClass = -2;

struct ClassLabels {
  const void* data;
  DType dtype;
  int64_t classes, ignore_index;
  const char* op;
  int32_t dim;  // of the classes, for people
  CudaFaultSink sink;

  // Throws TypeError if `label` is not of integers. `name` is a literal.
  ClassLabels(const KernelContext& ctx, const char* name, const Tensor& label,
              int64_t class_dim, int64_t num_classes, int64_t ignored)
      : data(label.raw_data()),
        dtype(label.dtype()),
        classes(num_classes),
        ignore_index(ignored),
        op(name),
        dim(static_cast<int32_t>(class_dim)) {
    RequireIntegerLabels(op, label);
    sink = CudaFaultSinkOf(ctx.place.index);
  }

#ifdef __CUDACC__
  // A class, kIgnoredLabel or kNoClass.
  __device__ __forceinline__ int64_t At(int64_t i) const {
    int64_t v;
    switch (dtype) {
      case DType::kUInt8:
        v = static_cast<const uint8_t*>(data)[i];
        break;
      case DType::kInt8:
        v = static_cast<const int8_t*>(data)[i];
        break;
      case DType::kInt16:
        v = static_cast<const int16_t*>(data)[i];
        break;
      case DType::kInt32:
        v = static_cast<const int32_t*>(data)[i];
        break;
      default:
        v = static_cast<const int64_t*>(data)[i];
    }
    if (v == ignore_index) return kIgnoredLabel;
    if (v >= 0 && v < classes) return v;
    sink.Report({CudaFault::kPlainIndex, dim, op, v, i, classes, 0.0});
    return kNoClass;
  }
#endif
};

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_NN_LABELS_CUDA_CUH_
