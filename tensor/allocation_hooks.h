// Functions that are called for each storage that is allocated and freed, on
// the thread that does it: for profilers and memory checkers. None are
// installed unless somebody wants to know; a storage then costs one load and a
// branch.
#ifndef PROA_TENSOR_ALLOCATION_HOOKS_H_
#define PROA_TENSOR_ALLOCATION_HOOKS_H_

#include <atomic>
#include <cstdint>

#include "tensor/place.h"

namespace proa::inline v0 {

struct AllocationHooks {
  // `pooled`: a small block of the thread's own pool (tensor/block_pool.h),
  // which the figures of the allocator do not count, and of which `freed` is
  // not told.
  void (*allocated)(Place place, const void* data, int64_t bytes, bool pooled);
  void (*freed)(Place place, const void* data, int64_t bytes);
};

namespace internal {
// Those in effect; null if there are none.
extern constinit std::atomic<const AllocationHooks*> allocation_hooks;
}  // namespace internal

// Who may install hooks; they are called in this order.
enum class AllocationHookSlot : uint8_t { kFill, kObserve };

// `hooks` must live for ever; null takes those of the slot off. Thread-safe,
// but other threads may still be inside of the old ones.
void InstallAllocationHooks(AllocationHookSlot slot,
                            const AllocationHooks* hooks);

// What is written into each new storage in host memory: an op that reads what
// nobody wrote then gives other results (ops/conformance runs all of them so).
// NaN: 0xFF bytes, a NaN in each floating-point type. Large: 1e30 in float32,
// and finite large numbers in the other types.
enum class MemoryFill : uint8_t { kNone, kNan, kLarge };
void SetMemoryFill(MemoryFill fill);
MemoryFill GetMemoryFill();

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_ALLOCATION_HOOKS_H_
