// Which storages lie in memory that others may write without our noticing:
// what was imported (Storage::Wrap) and what was exported (DLPack). Their
// version says less than that of others, so nothing derived from their elements
// may be kept. Thread-safe.
#ifndef PROA_TENSOR_SHARED_MEMORY_H_
#define PROA_TENSOR_SHARED_MEMORY_H_

#include <atomic>

namespace proa::inline v0 {

class Storage;

namespace internal {
// How many there are: 0 in most programs.
extern constinit std::atomic<int> shared_storages;
void ForgetSharedSlow(const Storage& storage);
}  // namespace internal

bool IsSharedMemory(const Storage& storage);
// For good: the one that it was exported to may have kept the address.
void MarkShared(const Storage& storage);
// Of Storage::Destroy, and of who knows that nobody else writes there.
inline void ForgetShared(const Storage& storage) {
  if (internal::shared_storages.load(std::memory_order_acquire) != 0)
      [[unlikely]]
    internal::ForgetSharedSlow(storage);
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_SHARED_MEMORY_H_
