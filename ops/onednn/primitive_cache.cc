#include "ops/onednn/primitive_cache.h"

#include <sys/mman.h>

#include <cstddef>
#include <exception>
#include <new>

#include "oneapi/dnnl/dnnl.h"
#include "ops/onednn/build_scope.h"
#include "tensor/error.h"
#include "tensor/fork_locks.h"
#include "tensor/system_memory.h"

namespace proa::inline v0::onednn {
namespace {

// What oneDNN may take for making a primitive. It does not check everywhere
// whether it was given memory.
constexpr int64_t kBuildMemory = 4 << 20;

// What the code of one primitive takes at most: up to a hundred kernels of 256
// KiB each, until they are trimmed.
constexpr size_t kRoomForCode = size_t{32} << 20;

bool HasRoom() {
  void* room = mmap(nullptr, kRoomForCode, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, kRoomForCode);
  return true;
}

// oneDNN 2.6 does not look whether it got memory for the code that it makes,
// and writes through a null pointer.
void RequireRoomForCode() {
  EnsureHostMemory(kBuildMemory);
  if (HasRoom() || (GiveBackMemory() && HasRoom())) return;
  Fail(absl::StatusCode::kResourceExhausted, "oneDNN: less than ",
       kRoomForCode >> 20, " MiB are left, what compiling a kernel may need");
}

Primitive Attempt(Primitive (*make)(const void*), const void* closure) {
  try {
    return make(closure);
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_unimplemented) return Primitive();
    if (e.status == dnnl_out_of_memory)
      Fail(absl::StatusCode::kResourceExhausted, "oneDNN: ", e.what());
    Fail(absl::StatusCode::kInternal, "oneDNN: ", e.what());
  } catch (const std::bad_alloc&) {
    Fail(absl::StatusCode::kResourceExhausted,
         "oneDNN: out of memory while a kernel was compiled");
  }
}

// Empties the cache inside of oneDNN; primitives in use stay.
void ForgetFailures() {
  int capacity = 0;
  if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success) return;
  dnnl_set_primitive_cache_capacity(0);
  dnnl_set_primitive_cache_capacity(capacity);
}

}  // namespace

PrimitiveCache& PrimitiveCache::Global() {
  static auto* cache = [] {
    auto* made = new PrimitiveCache;
    HoldWhileForking(made->mutex_);
    return made;
  }();
  return *cache;
}

namespace {

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = PrimitiveCache::Global();

}  // namespace

Primitive PrimitiveCache::Build(Primitive (*make)(const void*),
                                const void* closure) {
  RequireRoomForCode();
  const BuildScope building;
  try {
    return Attempt(make, closure);
  } catch (const std::exception& e) {
    // oneDNN remembers what it failed to make, and then says so for ever.
    ForgetFailures();
    const auto* error = dynamic_cast<const Error*>(&e);
    const bool memory =
        error != nullptr ? error->code() == absl::StatusCode::kResourceExhausted
                         : dynamic_cast<const std::bad_alloc*>(&e) != nullptr;
    if (!memory || !GiveBackMemory()) throw;
  }
  return Attempt(make, closure);
}

std::shared_ptr<const Primitive> PrimitiveCache::Find(const PrimitiveKey& key) {
  if (!key.fits()) return nullptr;
  std::lock_guard lock(mutex_);
  auto it = index_.find(&key);
  if (it == index_.end()) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->primitive;
}

std::shared_ptr<const Primitive> PrimitiveCache::Insert(const PrimitiveKey& key,
                                                        Primitive p) {
  auto shared = std::make_shared<const Primitive>(std::move(p));
  if (!key.fits()) return shared;
  std::lock_guard lock(mutex_);
  if (capacity_ == 0) return shared;
  if (auto it = index_.find(&key); it != index_.end())
    return it->second->primitive;  // another thread was faster
  entries_.push_front({key, shared});
  index_.emplace(&entries_.front().key, entries_.begin());
  Evict();
  return shared;
}

void PrimitiveCache::Evict() {
  while (static_cast<int64_t>(entries_.size()) > capacity_) {
    index_.erase(&entries_.back().key);
    entries_.pop_back();
  }
}

PrimitiveCacheStats PrimitiveCache::stats() const {
  std::lock_guard lock(mutex_);
  return {static_cast<int64_t>(entries_.size()), capacity_, hits_, misses_};
}

void PrimitiveCache::SetCapacity(int64_t capacity) {
  PROA_REQUIRE(capacity >= 0, "primitive cache: capacity ", capacity,
               " is negative");
  std::lock_guard lock(mutex_);
  capacity_ = capacity;
  Evict();
}

void PrimitiveCache::Clear() {
  std::lock_guard lock(mutex_);
  index_.clear();
  entries_.clear();
}

}  // namespace proa::inline v0::onednn
