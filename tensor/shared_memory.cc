#include "tensor/shared_memory.h"

#include <mutex>
#include <unordered_set>

#include "tensor/fork_locks.h"

namespace proa::inline v0 {
namespace internal {

constinit std::atomic<int> shared_storages = 0;

}  // namespace internal

namespace {

struct Shared {
  std::mutex mutex;
  std::unordered_set<const Storage*> storages;
};

Shared& All() {
  static auto* shared = [] {
    auto* made = new Shared;
    HoldWhileForking(made->mutex);
    return made;
  }();
  return *shared;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = All();

}  // namespace

void internal::ForgetSharedSlow(const Storage& storage) {
  Shared& all = All();
  std::lock_guard lock(all.mutex);
  if (all.storages.erase(&storage) != 0)
    shared_storages.fetch_sub(1, std::memory_order_release);
}

bool IsSharedMemory(const Storage& storage) {
  // Who asks about a storage holds it, and so has seen it being marked.
  if (internal::shared_storages.load(std::memory_order_acquire) == 0)
    return false;
  Shared& all = All();
  std::lock_guard lock(all.mutex);
  return all.storages.contains(&storage);
}

void MarkShared(const Storage& storage) {
  Shared& all = All();
  std::lock_guard lock(all.mutex);
  if (all.storages.insert(&storage).second)
    internal::shared_storages.fetch_add(1, std::memory_order_release);
}

}  // namespace proa::inline v0
