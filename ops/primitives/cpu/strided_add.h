// dst[i] += src[i] over one index space whatever the strides: the sums that
// adjoints of copies are made of. A stride of zero in dst sums over that dim.
//
// Elements are added in an order that does not depend on the number of threads.
// Integers wrap, bools are or-ed. Not for operands that overlap.
#ifndef PROA_OPS_PRIMITIVES_CPU_STRIDED_ADD_H_
#define PROA_OPS_PRIMITIVES_CPU_STRIDED_ADD_H_

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cpu {

// Strides in elements; data is that of index 0.
void StridedAdd(DType dtype, const Shape& shape, void* dst,
                const Strides& dst_strides, const void* src,
                const Strides& src_strides);

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_PRIMITIVES_CPU_STRIDED_ADD_H_
