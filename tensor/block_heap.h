// BlockHeap: blocks of any size out of large regions, with splitting and
// immediate coalescing in constant time ("two-level segregated fit").
// Source of the method: Masmano, Ripoll, Crespo, Real, "TLSF", 2004.
//
// Each block has a header of 64 bytes before it, which also links the free
// ones. It asks nobody for memory: the owner adds regions, lets them grow and
// takes free pages out. Not thread-safe. Used by the CPU allocator; the memory
// must be readable by the host.
#ifndef PROA_TENSOR_BLOCK_HEAP_H_
#define PROA_TENSOR_BLOCK_HEAP_H_

#include <cstddef>
#include <cstdint>

namespace proa::inline v0 {

class BlockHeap {
 public:
  static constexpr size_t kAlignment = 64;
  // What a region must have beyond the bytes of one block.
  static constexpr size_t kRegionOverhead = 2 * kAlignment;

  // `tag` is on its blocks, for owners of several heaps.
  explicit BlockHeap(uint32_t tag = 0) : tag_(tag) {}
  BlockHeap(const BlockHeap&) = delete;
  BlockHeap& operator=(const BlockHeap&) = delete;

  // Null if no free block is large enough.
  void* Allocate(size_t bytes);
  void Free(void* p);
  // The usable size of a block, at least what was asked.
  static size_t UsableSize(const void* p);
  // The tag of the heap that a used block is of.
  static uint32_t TagOf(const void* p);

  // `base` aligned to kAlignment, `bytes` a multiple of it.
  void AddRegion(void* base, size_t bytes);
  // The region that ends at `end` grows by `bytes` behind it.
  void ExtendRegion(void* end, size_t bytes);
  // What is free right before `end`, where a region ends: that much less is
  // needed to make a block by growing.
  static size_t FreeBefore(const void* end);
  // Takes whole pages out that no used block touches, which may leave two
  // regions where there was one; false if there are none. `page` is a multiple
  // of kAlignment.
  bool TakeFreePages(size_t page, void** base, size_t* bytes);

  size_t free_bytes() const { return free_bytes_; }
  // What TakeFreePages would take in all. Cost: looks at each free block.
  size_t free_page_bytes(size_t page) const;
  size_t largest_free() const;

 private:
  struct Block;

  // Sizes from 64 bytes on, eight bins between powers of two.
  static constexpr int kBins = 48 * 8;
  static int BinOf(size_t size);
  Block* TakeFit(size_t size);
  void Link(Block* block);
  void Unlink(Block* block);
  struct Pages {
    char* begin;
    char* end;
  };
  static Pages PagesIn(Block* block, size_t page);

  Block* bins_[kBins] = {};
  uint64_t nonempty_[kBins / 64] = {};
  size_t free_bytes_ = 0;
  const uint32_t tag_;
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_BLOCK_HEAP_H_
