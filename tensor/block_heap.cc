#include "tensor/block_heap.h"

#include <bit>

#include "glog/logging.h"

namespace proa::inline v0 {

struct alignas(BlockHeap::kAlignment) BlockHeap::Block {
  enum State : uint32_t {
    kFree = 0xf4eeb10c,
    kUsed = 0x05edb10c,
    kEnd = 0xe4db10c0,  // closes a region; never free, size of the header only
  };

  size_t size;   // with this header
  Block* below;  // neighbour at the lower address; null for the first
  Block* previous_free;
  Block* next_free;
  State state;

  char* bytes() { return reinterpret_cast<char*>(this); }
  Block* above() { return reinterpret_cast<Block*>(bytes() + size); }
  const Block* above() const { return const_cast<Block*>(this)->above(); }
  void* user() { return bytes() + sizeof(Block); }
  static Block* Of(void* user) {
    return reinterpret_cast<Block*>(static_cast<char*>(user) - sizeof(Block));
  }
};

namespace {

// A remainder smaller than this stays with the block that is handed out.
constexpr size_t kSmallestBlock = 320;
// How many blocks of the exact bin are tried before a larger one is split.
constexpr int kTries = 8;

}  // namespace

int BlockHeap::BinOf(size_t size) {
  const int log = std::bit_width(size) - 1;  // size >= 64, so log >= 6
  const int step = static_cast<int>(size >> (log - 3)) & 7;
  return (log - 6) * 8 + step;
}

void BlockHeap::Link(Block* block) {
  const int bin = BinOf(block->size);
  block->state = Block::kFree;
  block->previous_free = nullptr;
  block->next_free = bins_[bin];
  if (block->next_free != nullptr) block->next_free->previous_free = block;
  bins_[bin] = block;
  nonempty_[bin / 64] |= uint64_t{1} << (bin % 64);
  free_bytes_ += block->size;
}

void BlockHeap::Unlink(Block* block) {
  if (block->next_free != nullptr) {
    block->next_free->previous_free = block->previous_free;
  }
  if (block->previous_free != nullptr) {
    block->previous_free->next_free = block->next_free;
  } else {
    const int bin = BinOf(block->size);
    bins_[bin] = block->next_free;
    if (bins_[bin] == nullptr) {
      nonempty_[bin / 64] &= ~(uint64_t{1} << (bin % 64));
    }
  }
  free_bytes_ -= block->size;
}

BlockHeap::Block* BlockHeap::TakeFit(size_t size) {
  const int bin = BinOf(size);
  int tries = kTries;
  for (Block* b = bins_[bin]; b != nullptr && tries > 0;
       b = b->next_free, --tries) {
    if (b->size >= size) {
      Unlink(b);
      return b;
    }
  }
  // Any block of a higher bin is large enough; the lowest such bin fits best.
  int word = (bin + 1) / 64;
  if (word >= kBins / 64) return nullptr;
  uint64_t bits = nonempty_[word] & (~uint64_t{0} << ((bin + 1) % 64));
  while (bits == 0) {
    if (++word == kBins / 64) return nullptr;
    bits = nonempty_[word];
  }
  Block* b = bins_[word * 64 + std::countr_zero(bits)];
  Unlink(b);
  return b;
}

void* BlockHeap::Allocate(size_t bytes) {
  const size_t size =
      (bytes + sizeof(Block) + kAlignment - 1) / kAlignment * kAlignment;
  Block* block = TakeFit(size);
  if (block == nullptr) return nullptr;
  if (block->size - size >= kSmallestBlock) {
    Block* rest = reinterpret_cast<Block*>(block->bytes() + size);
    rest->size = block->size - size;
    rest->below = block;
    rest->above()->below = rest;
    block->size = size;
    Link(rest);
  }
  block->state = Block::kUsed;
  return block->user();
}

void BlockHeap::Free(void* p) {
  Block* block = Block::Of(p);
  CHECK(block->state == Block::kUsed)
      << "freed twice, not from this heap, or overwritten";
  if (Block* above = block->above(); above->state == Block::kFree) {
    Unlink(above);
    block->size += above->size;
  }
  if (Block* below = block->below;
      below != nullptr && below->state == Block::kFree) {
    Unlink(below);
    below->size += block->size;
    block->state = Block::kFree;  // so that a second Free of it is noticed
    block = below;
  }
  block->above()->below = block;
  Link(block);
}

size_t BlockHeap::UsableSize(const void* p) {
  return Block::Of(const_cast<void*>(p))->size - sizeof(Block);
}

void BlockHeap::AddRegion(void* base, size_t bytes) {
  CHECK(bytes > kRegionOverhead && bytes % kAlignment == 0);
  Block* block = static_cast<Block*>(base);
  block->size = bytes - sizeof(Block);
  block->below = nullptr;
  Block* end = block->above();
  end->size = sizeof(Block);
  end->below = block;
  end->state = Block::kEnd;
  Link(block);
}

bool BlockHeap::IsWholeRegion(const Block* block) {
  return block->below == nullptr && block->above()->state == Block::kEnd;
}

bool BlockHeap::TakeFreeRegion(void** base, size_t* bytes) {
  for (Block* bin : bins_) {
    for (Block* b = bin; b != nullptr; b = b->next_free) {
      if (!IsWholeRegion(b)) continue;
      Unlink(b);
      *base = b;
      *bytes = b->size + sizeof(Block);
      return true;
    }
  }
  return false;
}

size_t BlockHeap::free_region_bytes() const {
  size_t bytes = 0;
  for (const Block* bin : bins_) {
    for (const Block* b = bin; b != nullptr; b = b->next_free) {
      if (IsWholeRegion(b)) bytes += b->size + sizeof(Block);
    }
  }
  return bytes;
}

size_t BlockHeap::largest_free() const {
  for (int bin = kBins - 1; bin >= 0; --bin) {
    size_t largest = 0;
    for (const Block* b = bins_[bin]; b != nullptr; b = b->next_free) {
      largest = largest > b->size ? largest : b->size;
    }
    if (largest > 0) return largest - sizeof(Block);
  }
  return 0;
}

}  // namespace proa::inline v0
