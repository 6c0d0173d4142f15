// Conversion of elements for code that is compiled once: that of blocks.h for
// the instruction set of this machine.
#ifndef PROA_OPS_PRIMITIVES_CPU_CONVERT_H_
#define PROA_OPS_PRIMITIVES_CPU_CONVERT_H_

#include <cstdint>

#include "tensor/dtype.h"

namespace proa::inline v0::ops::cpu {

// n contiguous elements (cast_value.h has the rules), on this thread.
void Convert(DType from, const void* src, DType to, void* dst, int64_t n);

// Likewise, on all threads.
void ConvertInParallel(DType from, const void* src, DType to, void* dst,
                       int64_t n);

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_PRIMITIVES_CPU_CONVERT_H_
