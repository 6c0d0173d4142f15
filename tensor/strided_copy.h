// Copies elements between two strided blocks of host memory of equal shape. The
// engine under tensor/copy.h; knows sizes of elements, not their types. Kernels
// use ops/primitives/cpu/strided_copy.h, which this room cannot reach and which
// is faster at transpositions (vector instructions, stores past the caches);
// copies of this room are between places, and most of them contiguous.
#ifndef PROA_TENSOR_STRIDED_COPY_H_
#define PROA_TENSOR_STRIDED_COPY_H_

#include <cstdint>

#include "tensor/shape.h"

namespace proa::inline v0 {

// Strides in elements; `item_size` is 1, 2, 4, 8 or 16. The blocks do not
// overlap. Threaded for large tensors. Cost: a memcpy per contiguous run after
// merging dims; transpositions go by tiles.
void StridedCopy(void* dst, const Strides& dst_strides, const void* src,
                 const Strides& src_strides, const Shape& shape,
                 int64_t item_size);

// The lowest and one past the highest element that a strided block touches,
// relative to its first element. [0, 0) if it has no elements. Throws Error if
// they overflow.
struct ElementSpan {
  int64_t low = 0;
  int64_t high = 0;
};
ElementSpan SpanOf(const Shape& shape, const Strides& strides);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_STRIDED_COPY_H_
