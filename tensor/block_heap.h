// BlockHeap: blocks of any size out of large regions, with splitting and
// immediate coalescing in constant time ("two-level segregated fit").
// Source of the method: Masmano, Ripoll, Crespo, Real, "TLSF", 2004.
//
// Each block has a header of 64 bytes before it, which also links the free
// ones. It asks nobody for memory: the owner adds regions and takes free ones
// out. Not thread-safe. Used by the CPU allocator; the memory must be readable
// by the host.
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

  BlockHeap() = default;
  BlockHeap(const BlockHeap&) = delete;
  BlockHeap& operator=(const BlockHeap&) = delete;

  // Null if no free block is large enough.
  void* Allocate(size_t bytes);
  void Free(void* p);
  // The usable size of a block, at least what was asked.
  static size_t UsableSize(const void* p);

  // `base` aligned to kAlignment, `bytes` a multiple of it.
  void AddRegion(void* base, size_t bytes);
  // Takes out a region without used blocks; false if there is none.
  bool TakeFreeRegion(void** base, size_t* bytes);

  size_t free_bytes() const { return free_bytes_; }
  // Bytes in regions without used blocks. Cost: looks at each free block.
  size_t free_region_bytes() const;
  size_t largest_free() const;

 private:
  struct Block;

  // Sizes from 64 bytes on, eight bins between powers of two.
  static constexpr int kBins = 48 * 8;
  static int BinOf(size_t size);
  Block* TakeFit(size_t size);
  void Link(Block* block);
  void Unlink(Block* block);
  static bool IsWholeRegion(const Block* block);

  Block* bins_[kBins] = {};
  uint64_t nonempty_[kBins / 64] = {};
  size_t free_bytes_ = 0;
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_BLOCK_HEAP_H_
