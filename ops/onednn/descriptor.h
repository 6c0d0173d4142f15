// oneDNN memory descriptors of tensors: which dtypes and strides oneDNN can be
// handed as they are.
#ifndef PROA_OPS_ONEDNN_DESCRIPTOR_H_
#define PROA_OPS_ONEDNN_DESCRIPTOR_H_

#include <cstdint>
#include <span>

#include "oneapi/dnnl/dnnl.hpp"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::onednn {

// Of float32, bfloat16, int32, int8, uint8; a CHECK otherwise.
dnnl::memory::data_type DataType(DType t);

// Dims and strides in elements. Strides of dims of size 1 are free in a tensor;
// oneDNN chooses its code by them, so they are replaced by what a dense tensor
// of the same order would have.
dnnl::memory::desc Descriptor(std::span<const int64_t> dims,
                              std::span<const int64_t> strides, DType dtype);
// Row-major.
dnnl::memory::desc Descriptor(std::span<const int64_t> dims, DType dtype);
dnnl::memory::desc Descriptor(const Tensor& t);
// Format chosen by the primitive.
dnnl::memory::desc AnyFormat(std::span<const int64_t> dims, DType dtype);

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_DESCRIPTOR_H_
