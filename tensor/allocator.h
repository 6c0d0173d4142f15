// Allocator: memory of one device that is kept when it is freed, with figures,
// a cap and release; and the allocator of the CPU.
//
// Why memory is kept: the first touch of a page costs about 1.5 us per 4 KiB,
// far more than most kernels that fill it. Tensors use it through
// Storage::Allocate; call it directly only for scratch memory. Thread-safe.
#ifndef PROA_TENSOR_ALLOCATOR_H_
#define PROA_TENSOR_ALLOCATOR_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

namespace proa::inline v0 {

struct StreamTag;    // tensor/device.h
struct BlockPlaces;  // tensor/block_heap.h
struct BlockRun;     // of the CPU allocator

// In bytes. Storages of at most 256 bytes on the CPU are not in here: threads
// pool them (tensor/block_pool.h).
struct MemoryFigures {
  int64_t allocated = 0;       // handed out now
  int64_t peak_allocated = 0;  // since start or ResetPeak
  int64_t reserved = 0;        // taken from the system: handed out or kept
  int64_t peak_reserved = 0;
  int64_t releasable = 0;    // part of `reserved` that Release would give back
  int64_t largest_free = 0;  // largest block that needs no new memory
  int64_t cap = std::numeric_limits<int64_t>::max();  // bound of `reserved`
  int64_t allocations = 0;  // calls of Allocate so far
};

class Allocator {
 public:
  static constexpr int64_t kAlignment = 64;

  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // At least `bytes` > 0, aligned to kAlignment, contents undefined. Throws
  // Error kResourceExhausted that says what was asked, held and could be
  // released.
  virtual void* Allocate(int64_t bytes) = 0;
  // `bytes` as they were asked for.
  virtual void Free(void* p, int64_t bytes) noexcept = 0;
  // Work of `stream` uses the block too, besides the stream that was current
  // when it was asked for: when it has been freed, whoever gets it next waits
  // for both. For devices; nothing to do where work is finished when a call
  // returns.
  virtual void UseOn(void* p, StreamTag* stream) {}

  virtual MemoryFigures Figures() const = 0;
  virtual void ResetPeak() = 0;
  // Bounds `reserved`. What is held already stays until Release.
  virtual void SetCap(int64_t bytes) = 0;
  // Gives unused memory back to the system; returns how much.
  virtual int64_t Release() = 0;

 protected:
  Allocator() = default;
};

// Never destroyed. In builds with the address sanitizer each block comes from
// operator new, so that errors are seen; figures and cap work, nothing is kept.
Allocator& CpuAllocator();

// Memory of work that is done again and again with blocks of the same sizes: a
// run of a program with inputs of the same shapes. The first run records which
// large blocks it takes and when it gives them back; from that each gets a
// place in one piece of memory, which the next runs take whole and fill by
// those places.
//
//   auto plan = std::make_shared<MemoryPlan>();  // for this kind of run
//   { const PlannedBlocks blocks(plan); Run(); }  // records
//   { const PlannedBlocks blocks(plan); Run(); }  // follows
//
// Why: a heap that sees one block at a time leaves holes, a third of what
// ResNet-50 has in use at most. A run that takes other blocks than the plan
// says is right all the same: what does not fit is taken as without a plan, and
// the next run records again.
//
// Thread-safe.
class MemoryPlan {
 public:
  // Null while there is nothing to follow.
  std::shared_ptr<const BlockPlaces> places() const;
  // Not for ever: runs that take other blocks each time have no plan.
  bool wants_record() const;
  void Learn(BlockPlaces places);
  // A run took other blocks.
  void Forget();

 private:
  static constexpr int kMostRecords = 8;
  mutable std::mutex mutex_;
  std::shared_ptr<const BlockPlaces> places_;
  int records_ = 0;
};

// While it lives, large blocks of CPU memory that this thread takes go by the
// plan. A null plan is nothing.
class PlannedBlocks {
 public:
  explicit PlannedBlocks(std::shared_ptr<MemoryPlan> plan);
  ~PlannedBlocks();
  PlannedBlocks(const PlannedBlocks&) = delete;
  PlannedBlocks& operator=(const PlannedBlocks&) = delete;

 private:
  const std::shared_ptr<MemoryPlan> plan_;
  BlockRun* run_ = nullptr;  // the last of it and its blocks deletes it
  BlockRun* before_ = nullptr;
  const int exceptions_;  // under way when it began
};

// "1.50 GiB", "512 B".
std::string FormatBytes(int64_t bytes);
// Throws the error of a failed allocation on `device` ("cpu", "npu:0").
[[noreturn]] void FailAllocation(const std::string& device, int64_t asked,
                                 const MemoryFigures& figures);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_ALLOCATOR_H_
