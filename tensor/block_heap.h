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
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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

  // Blocks that are of no heap, and what belongs to a used block: for owners
  // that keep account of some. A header at `base`, aligned to kAlignment, for
  // what follows it: `size` in all. Gives the block.
  static void* Mark(void* base, size_t size);
  // Before the memory goes; a block is not given back twice.
  static void Unmark(void* p);
  // A tag in place of its heap's, until it is freed.
  struct Owner {
    void* object;
    int64_t number;
  };
  static void SetOwner(void* p, uint32_t tag, Owner owner);
  static Owner OwnerOf(const void* p);

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

// When the blocks of a piece of work are known beforehand, they need not be
// placed one at a time.
struct BlockUse {
  static constexpr int64_t kStays = std::numeric_limits<int64_t>::max();
  int64_t bytes = 0;
  int64_t from = 0;        // events of the run are numbered
  int64_t until = kStays;  // when it was given back, if the run did
};

struct BlockPlaces {
  static constexpr int64_t kElsewhere = -1;  // of a block that stays
  int64_t header = 0;
  std::vector<int64_t> bytes;    // as they were asked for, in order
  std::vector<int64_t> offsets;  // of their headers
  int64_t total = 0;

  // What a block takes, with its header.
  int64_t Room(size_t i) const {
    return header + (bytes[i] + header - 1) / header * header;
  }
};

// A place for each, with `header` bytes before it, so that blocks that are in
// use at the same time do not overlap; offsets are multiples of `header`.
// Largest first, each at the lowest place: within a few percent of the most
// that is in use at once.
BlockPlaces PlaceBlocks(std::span<const BlockUse> uses, int64_t header);

// One run, which has places to follow, or records what it takes. The owner of
// its blocks. Not thread-safe.
struct BlockRun {
  // What records has none.
  explicit BlockRun(std::shared_ptr<const BlockPlaces> followed)
      : places(std::move(followed)) {}

  // Recording: the number of a block that is taken now.
  int64_t Take(int64_t bytes);
  // Following: the number of the block in the plan that this is, which becomes
  // used; -1 if its place is elsewhere, or still used by another.
  int64_t Follow(int64_t bytes);
  // A block of this number goes.
  void Give(int64_t number);
  // Whether the run has taken all that the plan says, and nothing else.
  bool followed() const { return !missed && next == places->bytes.size(); }

  const std::shared_ptr<const BlockPlaces> places;
  std::vector<BlockUse> uses;
  int64_t events = 0;
  size_t next = 0;
  bool missed = false;
  std::vector<int64_t> used;  // numbers of blocks that are in their places
  void* memory = nullptr;     // of the places; null until it is needed
  int64_t blocks = 0;         // that live
  bool open = true;           // until the work is done
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_BLOCK_HEAP_H_
