// Blocks: how CPU primitives see elements. Whatever strides, broadcasting and
// storage types operands have, work is done on blocks of at most kBlock
// elements that lie one behind the other in the type that is computed in. Then
// a kernel is one loop over contiguous arrays, which gcc vectorizes, and all
// else is here, written once: gathering, scattering, conversion, non-temporal
// stores.
//
// Compiled once per instruction set (PROA_ISA is the namespace).
#ifndef PROA_OPS_PRIMITIVES_CPU_BLOCKS_H_
#define PROA_OPS_PRIMITIVES_CPU_BLOCKS_H_

#include <cstdint>

#include "ops/primitives/cpu/iteration.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops::PROA_ISA {

// A few operands of it stay in the L1 cache beside each other.
inline constexpr int64_t kBlock = 1024;
inline constexpr int64_t kBlockBytes = kBlock * 16;  // of the widest type

// Converts n contiguous elements (see cast_value.h for the rules).
using ConvertFn = void (*)(const void* src, void* dst, int64_t n);
// Null if the types are equal.
ConvertFn FindConvert(DType from, DType to);

// Copies n elements of `item_size` bytes that lie `stride` bytes apart.
void GatherRun(const char* src, int64_t stride, int64_t item_size, int64_t n,
               char* dst);
void ScatterRun(const char* src, int64_t item_size, int64_t n, char* dst,
                int64_t stride);

// Copies n elements of operand `op` from the cursor on (over ends of dims) to a
// contiguous block, or back.
void GatherBlock(const cpu::IterationPlan& plan, const cpu::IterationCursor& at,
                 int op, int64_t item_size, int64_t n, char* dst);
void ScatterBlock(const cpu::IterationPlan& plan,
                  const cpu::IterationCursor& at, int op, int64_t item_size,
                  int64_t n, const char* src);

// memcpy with stores that bypass the caches: for outputs that will not be read
// again before they would be evicted (streaming.h says when that pays).
// StreamFence must follow the last one of a thread.
void StreamCopy(void* dst, const void* src, int64_t bytes);
void StreamFence();

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_BLOCKS_H_
