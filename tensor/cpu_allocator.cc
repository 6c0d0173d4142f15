// The allocator of the CPU: three BlockHeaps over memory from mmap. Small and
// large blocks have regions of their own, so that small tensors that live long
// do not lie between large ones, and so have large ones that are to last
// (LastingBlocks). A region grows in place, so that neighbours that are freed
// make room for something larger.
//
// Large blocks of a run with a plan (MemoryPlan) have the run as their
// owner. While it records, they come from the heap where that has room, and
// are mapped one by one otherwise, so that no hole is paid for; while it
// follows, they lie in one block of the heap.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "tensor/allocator.h"
#include "tensor/block_heap.h"
#include "tensor/block_pool.h"
#include "tensor/fork_locks.h"
#include "tensor/system_memory.h"

namespace proa::inline v0 {
namespace {

constexpr size_t kPage = size_t{4} << 10;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int64_t kLargeBlock = int64_t{1} << 20;  // from here on: large heap
constexpr size_t kSmallRegion = size_t{8} << 20;
// No machine has more; keeps size arithmetic far from overflow.
constexpr int64_t kMostBytes = int64_t{1} << 46;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Memory at an address that nothing else has, asking for huge pages; null if
// that is not to be had.
void* MapAt(void* at, size_t bytes) {
  void* p = mmap(at, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (p != at) {  // a system that does not know the flag
    munmap(p, bytes);
    return nullptr;
  }
  madvise(p, bytes, MADV_HUGEPAGE);  // a wish; without it pages are small
  return p;
}

// The same anywhere, aligned to huge pages, with `room` addresses behind it
// that nothing else has now.
void* MapRegion(size_t bytes, size_t room) {
  const size_t padded = bytes + room + kHugePage;
  void* raw = mmap(nullptr, padded, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  munmap(raw, padded);
  return MapAt(reinterpret_cast<void*>(
                   RoundUp(reinterpret_cast<uintptr_t>(raw), kHugePage)),
               bytes);
}

thread_local constinit BlockRun* current_run = nullptr;

class CachingCpuAllocator final : public Allocator {
 public:
  void* Allocate(int64_t bytes) override;
  void Free(void* p, int64_t bytes) noexcept override;

  bool keeps() const { return keep_; }
  // The work of a run is done; what it has recorded. The run is deleted once
  // its blocks are gone.
  std::vector<BlockUse> Close(BlockRun* run) noexcept;
  // For a block of this size, not touched yet.
  void MakeRoom(int64_t bytes);

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

  void HoldLockWhileForking() { HoldWhileForking(mutex_); }

 private:
  enum Tag : uint32_t {
    kPlain = 0,
    kLasting,  // of their heap
    // Those of a run:
    kRecorded,  // in the large heap
    kMapped,    // each alone
    kPlaced,    // where the plan says
  };

  struct GrowingHeap : BlockHeap {
    using BlockHeap::BlockHeap;
    char* end = nullptr;  // of the region that grows; null if there is none
  };

  GrowingHeap& HeapFor(int64_t bytes, bool lasting) {
    return bytes < kLargeBlock ? small_ : lasting ? lasting_ : large_;
  }
  MemoryFigures FiguresLocked() const;
  int64_t ReleaseLocked();
  // Null if there is no memory.
  void* TakeBlock(int64_t bytes);
  bool Grow(GrowingHeap& heap, size_t bytes);
  void* GrowAndAllocate(GrowingHeap& heap, int64_t bytes);
  // The same for blocks of a run; null if it has none for this.
  void* TakeOf(BlockRun& run, int64_t bytes);
  void* TakePlaced(BlockRun& run, int64_t bytes);
  void* TakeRecorded(BlockRun& run, int64_t bytes);
  void* TakeMapped(int64_t bytes);
  void* TakeWhole(int64_t bytes);
  void DeleteIfDone(BlockRun* run);
  void FreeOf(void* p, int64_t bytes, uint32_t tag);
  static bool OfRun(const void* p, int64_t bytes) {
    return bytes >= kLargeBlock && BlockHeap::TagOf(p) >= kRecorded;
  }
  int64_t BlockSize(void* p, int64_t bytes) const {
    return keep_ ? static_cast<int64_t>(BlockHeap::UsableSize(p)) : bytes;
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

  // Else each block is the system's, see tensor/system_memory.h.
  const bool keep_ = PROA_POOLS_KEEP_BLOCKS != 0 && KeepBlocks();
  mutable std::mutex mutex_;
  GrowingHeap small_, large_, lasting_{kLasting};
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
  for (const GrowingHeap* heap : {&small_, &large_, &lasting_}) {
    f.releasable += static_cast<int64_t>(heap->free_page_bytes(kHugePage));
    f.largest_free =
        std::max(f.largest_free, static_cast<int64_t>(heap->largest_free()));
  }
  f.cap = cap_;
  f.allocations = allocations_;
  return f;
}

int64_t CachingCpuAllocator::ReleaseLocked() {
  int64_t released = 0;
  for (GrowingHeap* heap : {&small_, &large_, &lasting_}) {
    void* base;
    size_t bytes;
    while (heap->TakeFreePages(kHugePage, &base, &bytes)) {
      munmap(base, bytes);
      released += static_cast<int64_t>(bytes);
      if (static_cast<char*>(base) + bytes == heap->end) heap->end = nullptr;
    }
  }
  reserved_ -= released;
  return released;
}

// Makes room for a block of `bytes`, headers included.
bool CachingCpuAllocator::Grow(GrowingHeap& heap, size_t bytes) {
  // What is to be used first need not be taken twice.
  const size_t there =
      heap.end != nullptr ? BlockHeap::FreeBefore(heap.end) : 0;
  const size_t more =
      std::max(RoundUp(bytes - std::min(there, bytes), kHugePage), kHugePage);
  if (heap.end != nullptr && reserved_ + static_cast<int64_t>(more) <= cap_ &&
      MapAt(heap.end, more) != nullptr) {
    heap.ExtendRegion(heap.end, more);
    heap.end += more;
    CountReserved(static_cast<int64_t>(more));
    return true;
  }
  const size_t region = RoundUp(bytes, kHugePage);
  if (reserved_ + static_cast<int64_t>(region) > cap_) return false;
  // Addresses may be scarce: of a limit that users set, or of the machine.
  for (size_t room : {size_t{1} << 40, size_t{1} << 32, size_t{0}}) {
    void* base = MapRegion(region, room);
    if (base == nullptr) continue;
    heap.AddRegion(base, region);
    heap.end = static_cast<char*>(base) + region;
    CountReserved(static_cast<int64_t>(region));
    return true;
  }
  return false;
}

void* CachingCpuAllocator::GrowAndAllocate(GrowingHeap& heap, int64_t bytes) {
  const size_t least = static_cast<size_t>(bytes) + BlockHeap::kAlignment +
                       BlockHeap::kRegionOverhead;
  // A little first; a process that has much will need more.
  const size_t wished =
      &heap == &small_ && reserved_ > 0 ? kSmallRegion : kHugePage;
  // The second and third try do without what is not needed now.
  if (Grow(heap, std::max(least, wished)) || Grow(heap, least) ||
      (ReleaseLocked() > 0 && Grow(heap, least))) {
    return heap.Allocate(bytes);
  }
  return nullptr;
}

void* CachingCpuAllocator::TakeBlock(int64_t bytes) {
  if (bytes >= kMostBytes) return nullptr;
  if (!keep_) [[unlikely]] {
    if (reserved_ + bytes > cap_) return nullptr;
    void* p =
        ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow);
    if (p != nullptr) CountReserved(bytes);
    return p;
  }
  GrowingHeap& heap = HeapFor(bytes, LastingBlocks::wanted());
  void* p = heap.Allocate(bytes);
  return p != nullptr ? p : GrowAndAllocate(heap, bytes);
}

void* CachingCpuAllocator::TakeWhole(int64_t bytes) {
  void* p = large_.Allocate(static_cast<size_t>(bytes));
  if (p == nullptr) {
    // Holes that are too small for it go first, if they are worth it.
    const size_t end =
        large_.end != nullptr ? BlockHeap::FreeBefore(large_.end) : 0;
    const size_t holes = large_.free_page_bytes(kHugePage);
    if (holes > end + static_cast<size_t>(bytes) / 4) ReleaseLocked();
    p = GrowAndAllocate(large_, bytes);
  }
  return p;
}

void* CachingCpuAllocator::TakePlaced(BlockRun& run, int64_t bytes) {
  if (run.memory == nullptr && run.places->total > 0) {
    run.memory = TakeWhole(run.places->total);
    if (run.memory == nullptr) {
      run.missed = true;
      return nullptr;
    }
    CountAllocation(BlockSize(run.memory, 0));
  }
  const int64_t number = run.Follow(bytes);
  if (number < 0) return nullptr;
  const auto i = static_cast<size_t>(number);
  void* p =
      BlockHeap::Mark(static_cast<char*>(run.memory) + run.places->offsets[i],
                      static_cast<size_t>(run.places->Room(i)));
  BlockHeap::SetOwner(p, kPlaced, {&run, number});
  return p;
}

void* CachingCpuAllocator::TakeMapped(int64_t bytes) {
  const size_t size =
      RoundUp(static_cast<size_t>(bytes) + BlockHeap::kAlignment, kPage);
  // Not beside holes that were touched.
  ReleaseLocked();
  if (reserved_ + static_cast<int64_t>(size) > cap_) return nullptr;
  void* base = MapRegion(size, 0);
  if (base == nullptr) return nullptr;
  CountReserved(static_cast<int64_t>(size));
  return BlockHeap::Mark(base, size);
}

void* CachingCpuAllocator::TakeRecorded(BlockRun& run, int64_t bytes) {
  uint32_t tag = kRecorded;
  void* p = large_.Allocate(static_cast<size_t>(bytes));
  if (p == nullptr) {
    tag = kMapped;
    p = TakeMapped(bytes);
  }
  if (p == nullptr) return nullptr;
  BlockHeap::SetOwner(p, tag, {&run, run.Take(bytes)});
  CountAllocation(BlockSize(p, bytes));
  return p;
}

void* CachingCpuAllocator::TakeOf(BlockRun& run, int64_t bytes) {
  return run.places == nullptr ? TakeRecorded(run, bytes)
                               : TakePlaced(run, bytes);
}

void CachingCpuAllocator::FreeOf(void* p, int64_t bytes, uint32_t tag) {
  const BlockHeap::Owner owner = BlockHeap::OwnerOf(p);
  auto* run = static_cast<BlockRun*>(owner.object);
  run->Give(owner.number);
  if (tag == kPlaced) {
    BlockHeap::Unmark(p);
  } else {
    allocated_ -= BlockSize(p, bytes);
    if (tag == kRecorded) {
      large_.Free(p);
    } else {
      const size_t size = BlockHeap::UsableSize(p) + BlockHeap::kAlignment;
      reserved_ -= static_cast<int64_t>(size);
      munmap(static_cast<char*>(p) - BlockHeap::kAlignment, size);
    }
  }
  DeleteIfDone(run);
}

void CachingCpuAllocator::DeleteIfDone(BlockRun* run) {
  if (run->open || run->blocks > 0) return;
  if (run->memory != nullptr) {
    allocated_ -= BlockSize(run->memory, 0);
    large_.Free(run->memory);
  }
  delete run;
}

std::vector<BlockUse> CachingCpuAllocator::Close(BlockRun* run) noexcept {
  std::lock_guard lock(mutex_);
  std::vector<BlockUse> uses = std::move(run->uses);
  run->open = false;
  DeleteIfDone(run);
  return uses;
}

void CachingCpuAllocator::MakeRoom(int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (void* p = TakeWhole(bytes)) large_.Free(p);
}

void* CachingCpuAllocator::Allocate(int64_t bytes) {
  std::unique_lock lock(mutex_);
  if (current_run != nullptr && bytes >= kLargeBlock && bytes < kMostBytes &&
      !LastingBlocks::wanted()) [[unlikely]] {
    if (void* p = TakeOf(*current_run, bytes)) return p;
  }
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
  if (keep_ && OfRun(p, bytes)) [[unlikely]] {
    return FreeOf(p, bytes, BlockHeap::TagOf(p));
  }
  allocated_ -= BlockSize(p, bytes);
  if (keep_) [[likely]] {
    HeapFor(bytes, BlockHeap::TagOf(p) == kLasting).Free(p);
  } else {
    reserved_ -= bytes;
    ::operator delete (p, std::align_val_t{kAlignment});
  }
}

CachingCpuAllocator& TheCpuAllocator() {
  static CachingCpuAllocator* allocator = [] {
    auto* a = new CachingCpuAllocator;
    a->HoldLockWhileForking();
    AddMemoryKeeper([] { return TheCpuAllocator().Release() > 0; });
    return a;
  }();
  return *allocator;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = TheCpuAllocator();

}  // namespace

Allocator& CpuAllocator() { return TheCpuAllocator(); }

PlannedBlocks::PlannedBlocks(std::shared_ptr<MemoryPlan> plan)
    : plan_(std::move(plan)), exceptions_(std::uncaught_exceptions()) {
  if (plan_ == nullptr || !TheCpuAllocator().keeps()) return;
  auto places = plan_->places();
  if (places == nullptr && !plan_->wants_record()) return;
  run_ = new BlockRun(std::move(places));
  before_ = std::exchange(current_run, run_);
}

PlannedBlocks::~PlannedBlocks() {
  if (run_ == nullptr) return;
  current_run = before_;
  const bool recorded = run_->places == nullptr;
  const bool followed = !recorded && run_->followed();
  const std::vector<BlockUse> uses = TheCpuAllocator().Close(run_);
  // Half a run says nothing.
  if (std::uncaught_exceptions() > exceptions_) return;
  if (!recorded) {
    if (!followed) plan_->Forget();
    return;
  }
  try {
    BlockPlaces places = PlaceBlocks(uses, BlockHeap::kAlignment);
    // For the next run, and for one of another kind that records.
    if (places.total > 0) TheCpuAllocator().MakeRoom(places.total);
    plan_->Learn(std::move(places));
  } catch (const std::bad_alloc&) {
    // The next run records again.
  }
}

}  // namespace proa::inline v0
