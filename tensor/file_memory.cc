#include "tensor/file_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <unordered_set>
#include <utility>

#include "tensor/fork_locks.h"
#include "tensor/place.h"
#include "tensor/shared_memory.h"

namespace proa::inline v0 {
namespace {

struct Files {
  std::mutex mutex;
  std::unordered_set<const Storage*> storages;
};

Files& All() {
  static auto* files = [] {
    auto* made = new Files;
    HoldWhileForking(made->mutex);
    return made;
  }();
  return *files;
}

const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = All();

}  // namespace

IntrusivePtr<Storage> FileStorage(void* data, int64_t bytes,
                                  std::shared_ptr<void> mapping) {
  auto storage = Storage::Wrap(data, bytes, Place{}, nullptr);
  const Storage* const key = storage.get();
  storage->set_release([key, data, bytes, mapping = std::move(mapping)] {
    {
      Files& all = All();
      std::lock_guard lock(all.mutex);
      all.storages.erase(key);
    }
    // Nobody sees these bytes any more, whatever was written there.
    ForgetFilePages(data, bytes);
  });
  // A private mapping: nobody else writes there.
  ForgetShared(*storage);
  Files& all = All();
  std::lock_guard lock(all.mutex);
  all.storages.insert(key);
  return storage;
}

bool IsFileMemory(const Storage& storage) {
  Files& all = All();
  std::lock_guard lock(all.mutex);
  return all.storages.contains(&storage);
}

void ForgetFilePages(const Storage& storage) {
  if (storage.version() == 0 && IsFileMemory(storage))
    ForgetFilePages(storage.data(), storage.bytes());
}

void ForgetFilePages(const void* data, int64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + page_bytes - 1) / page_bytes * page_bytes;
  const uintptr_t last =
      (begin + static_cast<uintptr_t>(bytes)) / page_bytes * page_bytes;
  // It only saves memory: that it fails is no error.
  if (first < last)
    (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace proa::inline v0
