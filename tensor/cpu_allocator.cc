// The allocator of the CPU: two BlockHeaps over memory from mmap. Small and
// large blocks have regions of their own, so that a small tensor that lives
// long does not hold a large region.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>

#include "tensor/allocator.h"
#include "tensor/block_heap.h"
#include "tensor/block_pool.h"

namespace proa::inline v0 {
namespace {

constexpr bool kKeepBlocks = PROA_POOLS_KEEP_BLOCKS != 0;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int64_t kLargeBlock = int64_t{1} << 20;  // from here on: large heap
constexpr size_t kSmallRegion = size_t{8} << 20;
// No machine has more; keeps size arithmetic far from overflow.
constexpr int64_t kMostBytes = int64_t{1} << 46;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Aligned to huge pages and asking for them; null if the system has none left.
void* MapRegion(size_t bytes) {
  const size_t padded = bytes + kHugePage;
  void* raw = mmap(nullptr, padded, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(raw);
  char* base = reinterpret_cast<char*>(
      RoundUp(reinterpret_cast<uintptr_t>(begin), kHugePage));
  if (base > begin) munmap(begin, base - begin);
  char* end = begin + padded;
  if (end > base + bytes) munmap(base + bytes, end - (base + bytes));
  madvise(base, bytes, MADV_HUGEPAGE);  // a wish; without it pages are small
  return base;
}

class CachingCpuAllocator final : public Allocator {
 public:
  void* Allocate(int64_t bytes) override;
  void Free(void* p, int64_t bytes) noexcept override;

  MemoryFigures Figures() const override {
    std::lock_guard lock(mutex_);
    return FiguresLocked();
  }
  void ResetPeak() override {
    std::lock_guard lock(mutex_);
    peak_allocated_ = allocated_;
    peak_reserved_ = reserved_;
  }
  void SetCap(int64_t bytes) override {
    std::lock_guard lock(mutex_);
    cap_ = std::max<int64_t>(bytes, 0);
  }
  int64_t Release() override {
    std::lock_guard lock(mutex_);
    return ReleaseLocked();
  }

  // A fork while another thread holds the lock would leave it locked for ever.
  void BeforeFork() { mutex_.lock(); }
  void AfterFork() { mutex_.unlock(); }

 private:
  BlockHeap& HeapFor(int64_t bytes) {
    return bytes < kLargeBlock ? small_ : large_;
  }
  MemoryFigures FiguresLocked() const;
  int64_t ReleaseLocked();
  // Null if there is no memory.
  void* TakeBlock(int64_t bytes);
  void* GrowAndAllocate(BlockHeap& heap, int64_t bytes);
  static int64_t BlockSize(void* p, int64_t bytes) {
    return kKeepBlocks ? static_cast<int64_t>(BlockHeap::UsableSize(p)) : bytes;
  }
  void CountAllocation(int64_t bytes) {
    allocated_ += bytes;
    peak_allocated_ = std::max(peak_allocated_, allocated_);
    ++allocations_;
  }
  void CountReserved(int64_t bytes) {
    reserved_ += bytes;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
  }

  mutable std::mutex mutex_;
  BlockHeap small_, large_;
  int64_t allocated_ = 0, peak_allocated_ = 0;
  int64_t reserved_ = 0, peak_reserved_ = 0;
  int64_t cap_ = MemoryFigures().cap;
  int64_t allocations_ = 0;
};

MemoryFigures CachingCpuAllocator::FiguresLocked() const {
  MemoryFigures f;
  f.allocated = allocated_;
  f.peak_allocated = peak_allocated_;
  f.reserved = reserved_;
  f.peak_reserved = peak_reserved_;
  f.releasable = static_cast<int64_t>(small_.free_region_bytes() +
                                      large_.free_region_bytes());
  f.largest_free = static_cast<int64_t>(
      std::max(small_.largest_free(), large_.largest_free()));
  f.cap = cap_;
  f.allocations = allocations_;
  return f;
}

int64_t CachingCpuAllocator::ReleaseLocked() {
  int64_t released = 0;
  for (BlockHeap* heap : {&small_, &large_}) {
    void* base;
    size_t bytes;
    while (heap->TakeFreeRegion(&base, &bytes)) {
      munmap(base, bytes);
      released += static_cast<int64_t>(bytes);
    }
  }
  reserved_ -= released;
  return released;
}

void* CachingCpuAllocator::GrowAndAllocate(BlockHeap& heap, int64_t bytes) {
  const size_t least =
      RoundUp(static_cast<size_t>(bytes) + BlockHeap::kAlignment +
                  BlockHeap::kRegionOverhead,
              kHugePage);
  // A little first; a process that has much will need more.
  const size_t wished =
      &heap == &small_ && reserved_ > 0 ? kSmallRegion : kHugePage;
  // The second try does without what is not needed now.
  for (size_t region : {std::max(least, wished), least}) {
    if (reserved_ + static_cast<int64_t>(region) > cap_) ReleaseLocked();
    if (reserved_ + static_cast<int64_t>(region) > cap_) continue;
    void* base = MapRegion(region);
    if (base == nullptr && ReleaseLocked() > 0) base = MapRegion(region);
    if (base == nullptr) continue;
    heap.AddRegion(base, region);
    CountReserved(static_cast<int64_t>(region));
    return heap.Allocate(bytes);
  }
  return nullptr;
}

void* CachingCpuAllocator::TakeBlock(int64_t bytes) {
  if (bytes >= kMostBytes) return nullptr;
  if constexpr (!kKeepBlocks) {
    if (reserved_ + bytes > cap_) return nullptr;
    CountReserved(bytes);
    return ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow);
  }
  BlockHeap& heap = HeapFor(bytes);
  void* p = heap.Allocate(bytes);
  return p != nullptr ? p : GrowAndAllocate(heap, bytes);
}

void* CachingCpuAllocator::Allocate(int64_t bytes) {
  std::unique_lock lock(mutex_);
  void* p = TakeBlock(bytes);
  if (p == nullptr) [[unlikely]] {
    const MemoryFigures figures = FiguresLocked();
    lock.unlock();
    FailAllocation("cpu", bytes, figures);
  }
  CountAllocation(BlockSize(p, bytes));
  return p;
}

void CachingCpuAllocator::Free(void* p, int64_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  allocated_ -= BlockSize(p, bytes);
  if constexpr (kKeepBlocks) {
    HeapFor(bytes).Free(p);
  } else {
    reserved_ -= bytes;
    ::operator delete (p, std::align_val_t{kAlignment});
  }
}

CachingCpuAllocator& TheCpuAllocator() {
  static CachingCpuAllocator* allocator = [] {
    auto* a = new CachingCpuAllocator;
    pthread_atfork([] { TheCpuAllocator().BeforeFork(); },
                   [] { TheCpuAllocator().AfterFork(); },
                   [] { TheCpuAllocator().AfterFork(); });
    return a;
  }();
  return *allocator;
}

}  // namespace

Allocator& CpuAllocator() { return TheCpuAllocator(); }

}  // namespace proa::inline v0
