#include "tensor/storage.h"

#include <memory>
#include <new>
#include <utility>

#include "tensor/allocation_hooks.h"
#include "tensor/allocator.h"
#include "tensor/block_pool.h"
#include "tensor/device.h"
#include "tensor/error.h"
#include "tensor/shared_memory.h"
#include "tensor/system_memory.h"

namespace proa::inline v0 {
namespace {

// Null nearly always. Acquired, for the tables that it points to.
const AllocationHooks* Hooks() {
  return internal::allocation_hooks.load(std::memory_order_acquire);
}

// The elements of a small storage lie this far behind its beginning.
constexpr size_t kHeader = 64;
static_assert(sizeof(Storage) <= kHeader);

// Two sizes: a handful of numbers is the most frequent tensor of all, and
// deserves to share few cache lines.
constexpr int64_t kTiny = 64;
constexpr int64_t kSmall = 256;
using TinyPool = BlockPool<kHeader + kTiny, 64, 512, Storage>;
using SmallPool = BlockPool<kHeader + kSmall, 64, 256, Storage>;

// Where nothing is kept, small blocks too are no longer than they were asked to
// be: who watches memory (the address sanitizer, fuzz/guard.cc) then sees what
// is read behind them. False until start-up is over, which is good as well.
const bool small_from_pools = PROA_POOLS_KEEP_BLOCKS != 0 && KeepBlocks();

void* TakePooled(int64_t bytes) {
  return bytes <= kTiny ? TinyPool::Take() : SmallPool::Take();
}

}  // namespace

IntrusivePtr<Storage> Storage::Allocate(int64_t bytes, Place place) {
  if (place.is_cpu() && bytes >= 0 && bytes <= kSmall && small_from_pools)
      [[likely]] {
    char* block = static_cast<char*>(TakePooled(bytes));
    Storage* s = new (block) Storage;
    s->data_ = block + kHeader;
    s->bytes_ = bytes;
    auto made = IntrusivePtr<Storage>::Adopt(s);
    if (const AllocationHooks* hooks = Hooks()) [[unlikely]] {
      hooks->allocated(place, s->data_, bytes, /*pooled=*/true);
    }
    return made;
  }
  PROA_REQUIRE(bytes >= 0, "storage: size ", bytes, " is negative");
  Allocator& allocator =
      place.is_cpu() ? CpuAllocator() : RuntimeOf(place).allocator(place.index);
  Storage* s = new (TinyPool::Take()) Storage;
  auto made = IntrusivePtr<Storage>::Adopt(s);  // what follows may throw
  void* data = bytes > 0 ? allocator.Allocate(bytes) : nullptr;
  s->data_ = data;
  s->bytes_ = bytes;
  s->place_ = place;
  s->kind_ = Kind::kAllocator;
  if (const AllocationHooks* hooks = Hooks(); hooks && data) [[unlikely]] {
    hooks->allocated(place, data, bytes, /*pooled=*/false);
  }
  return made;
}

IntrusivePtr<Storage> Storage::Wrap(void* data, int64_t bytes, Place place,
                                    std::function<void()> release,
                                    bool read_only) {
  PROA_REQUIRE(bytes >= 0, "storage: size ", bytes, " is negative");
  auto held = std::make_unique<std::function<void()>>(std::move(release));
  Storage* s = new (TinyPool::Take()) Storage;
  s->data_ = data;
  s->bytes_ = bytes;
  s->place_ = place;
  s->kind_ = Kind::kWrapped;
  s->read_only_ = read_only;
  s->release_ = held.release();
  auto made = IntrusivePtr<Storage>::Adopt(s);
  MarkShared(*s);
  return made;
}

void Storage::UseOn(StreamTag* stream) {
  if (place_.is_cpu() || kind_ != Kind::kAllocator || data_ == nullptr) return;
  RuntimeOf(place_).allocator(place_.index).UseOn(data_, stream);
}

void Storage::Destroy(Storage* storage) {
  ForgetShared(*storage);
  if (storage->kind_ == Kind::kPooled) [[likely]] {
    const int64_t bytes = storage->bytes_;
    storage->~Storage();
    return bytes <= kTiny ? TinyPool::Give(storage) : SmallPool::Give(storage);
  }
  if (storage->kind_ == Kind::kWrapped) {
    std::unique_ptr<std::function<void()>> release(storage->release_);
    if (*release) (*release)();
  } else if (storage->data_ != nullptr) {
    const Place place = storage->place_;
    Allocator& allocator =
        place.is_cpu() ? CpuAllocator()
                       : FindDeviceRuntime(place.kind)->allocator(place.index);
    allocator.Free(storage->data_, storage->bytes_);
    if (const AllocationHooks* hooks = Hooks()) [[unlikely]] {
      hooks->freed(place, storage->data_, storage->bytes_);
    }
  }
  storage->~Storage();
  TinyPool::Give(storage);
}

}  // namespace proa::inline v0
