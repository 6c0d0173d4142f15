// Functions that are called for each storage that is allocated and freed, on
// the thread that does it: for profilers and memory checkers. None are
// installed unless somebody wants to know; then a storage costs one relaxed
// load and a branch more.
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
extern constinit std::atomic<const AllocationHooks*> allocation_hooks;
}  // namespace internal

// `hooks` must live for ever; null takes them off. Thread-safe, but other
// threads may still be inside of the old ones.
inline void InstallAllocationHooks(const AllocationHooks* hooks) {
  internal::allocation_hooks.store(hooks, std::memory_order_release);
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_ALLOCATION_HOOKS_H_
