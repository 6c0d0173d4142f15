// Moving elements without looking at them: copies between two tensors of one
// shape and item size whatever their strides, zeroing, filling. Runs at memcpy
// speed where inner runs are contiguous, in tiles where dims are transposed, on
// several threads above a cost. Not for converting dtypes (see elementwise.h)
// and not for operands that overlap.
#ifndef PROA_OPS_PRIMITIVES_CPU_STRIDED_COPY_H_
#define PROA_OPS_PRIMITIVES_CPU_STRIDED_COPY_H_

#include <cstdint>

#include "tensor/scalar.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {

// Bytes that are worth a piece of a parallel loop.
inline constexpr int64_t kCopyGrainBytes = 64 << 10;

// dst[i] = src[i] for every index of `shape`. Strides in elements, may be zero
// (of src) or negative; data is that of index 0.
void StridedCopy(const Shape& shape, int64_t item_size, void* dst,
                 const Strides& dst_strides, const void* src,
                 const Strides& src_strides);

// A plane [rows, columns] with contiguous rows from one of any strides, all in
// bytes; fast if the columns of src are contiguous. On the calling thread.
void CopyPlane(int64_t item_size, int64_t rows, int64_t columns, char* dst,
               int64_t dst_row_stride, const char* src, int64_t row_stride,
               int64_t column_stride);

// StridedCopy for tensors; `src` is broadcast to the shape of `dst`, dtypes are
// equal.
void CopyElements(const Tensor& src, const Tensor& dst);

// memcpy and memset on several threads; bytes may be 0.
void CopyBytes(void* dst, const void* src, int64_t bytes);
void ZeroBytes(void* dst, int64_t bytes);

// All elements of a contiguous tensor.
void Zero(const Tensor& t);
// All elements of a contiguous tensor become `value`, converted to its dtype.
void Fill(const Tensor& t, const Scalar& value);

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_PRIMITIVES_CPU_STRIDED_COPY_H_
