#include "tensor/block_heap.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

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
  union {
    struct {
      Block* previous_free;
      Block* next_free;
    };
    Owner owner;  // of a used block, where SetOwner says so
  };
  State state;
  uint32_t tag;  // while it is used

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
  block->tag = tag_;
  return block->user();
}

uint32_t BlockHeap::TagOf(const void* p) {
  return Block::Of(const_cast<void*>(p))->tag;
}

void* BlockHeap::Mark(void* base, size_t size) {
  Block* block = static_cast<Block*>(base);
  block->size = size;
  block->below = nullptr;
  block->state = Block::kUsed;
  return block->user();
}

void BlockHeap::Unmark(void* p) {
  Block* block = Block::Of(p);
  CHECK(block->state == Block::kUsed) << "freed twice, or overwritten";
  block->state = Block::kFree;
}

void BlockHeap::SetOwner(void* p, uint32_t tag, Owner owner) {
  Block* block = Block::Of(p);
  block->tag = tag;
  block->owner = owner;
}

BlockHeap::Owner BlockHeap::OwnerOf(const void* p) {
  return Block::Of(const_cast<void*>(p))->owner;
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

void BlockHeap::ExtendRegion(void* end, size_t bytes) {
  CHECK(bytes >= sizeof(Block) && bytes % kAlignment == 0);
  // What closed the region becomes the header of a block.
  Block* block = static_cast<Block*>(end) - 1;
  CHECK(block->state == Block::kEnd);
  block->size = bytes;
  Block* closing = block->above();
  closing->size = sizeof(Block);
  closing->state = Block::kEnd;
  if (Block* below = block->below;
      below != nullptr && below->state == Block::kFree) {
    Unlink(below);
    below->size += bytes;
    block = below;
  }
  closing->below = block;
  Link(block);
}

size_t BlockHeap::FreeBefore(const void* end) {
  const Block* last = (static_cast<const Block*>(end) - 1)->below;
  return last != nullptr && last->state == Block::kFree ? last->size : 0;
}

// The whole pages of a free block that can leave: room for what closes the part
// below and opens the part above stays.
BlockHeap::Pages BlockHeap::PagesIn(Block* block, size_t page) {
  const auto up = [page](uintptr_t at) {
    return (at + page - 1) / page * page;
  };
  const Block* above = block->above();
  const uintptr_t low = reinterpret_cast<uintptr_t>(block);
  uintptr_t high = reinterpret_cast<uintptr_t>(above);
  uintptr_t begin = up(block->below == nullptr ? low : low + sizeof(Block));
  // A first block that stays has its own header and what closes it.
  if (block->below == nullptr && begin > low)
    begin = up(low + 2 * sizeof(Block));
  if (above->state == Block::kEnd) {
    high += sizeof(Block);
    if (high % page != 0) high -= 2 * sizeof(Block);
  }
  const uintptr_t end = high / page * page;
  if (end <= begin) return {nullptr, nullptr};
  return {reinterpret_cast<char*>(begin), reinterpret_cast<char*>(end)};
}

bool BlockHeap::TakeFreePages(size_t page, void** base, size_t* bytes) {
  Block* block = nullptr;
  Pages pages{nullptr, nullptr};
  for (Block* bin : bins_) {
    for (Block* b = bin; b != nullptr && pages.begin == nullptr;
         b = b->next_free) {
      block = b;
      pages = PagesIn(b, page);
    }
  }
  if (pages.begin == nullptr) return false;
  Unlink(block);
  Block* const above = block->above();
  // The part above becomes a region of its own, unless there is none.
  Block* rest = reinterpret_cast<Block*>(pages.end);
  if (above->state == Block::kEnd && pages.end > above->bytes()) {
    // Nothing is left above.
  } else if (rest == above) {
    above->below = nullptr;
  } else {
    rest->size = above->bytes() - pages.end;
    rest->below = nullptr;
    above->below = rest;
    Link(rest);
  }
  // The part below is closed where the pages begin.
  if (pages.begin > block->bytes()) {
    Block* closing = reinterpret_cast<Block*>(pages.begin) - 1;
    Block* below = block->below;
    if (closing != block) {
      block->size = closing->bytes() - block->bytes();
      Link(block);
      below = block;
    }
    closing->size = sizeof(Block);
    closing->below = below;
    closing->state = Block::kEnd;
  }
  *base = pages.begin;
  *bytes = static_cast<size_t>(pages.end - pages.begin);
  return true;
}

size_t BlockHeap::free_page_bytes(size_t page) const {
  size_t bytes = 0;
  for (Block* bin : bins_) {
    for (Block* b = bin; b != nullptr; b = b->next_free) {
      const Pages pages = PagesIn(b, page);
      bytes += static_cast<size_t>(pages.end - pages.begin);
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

namespace {

// Placing takes time by their square; who has more takes them as they come.
constexpr size_t kMostPlaced = 4096;
// How many pairs of blocks are looked at while places are searched for: some
// hundredths of a second.
constexpr int64_t kMostPairs = int64_t{1} << 24;
// How far ahead a block is looked for when the next of the plan is another.
constexpr size_t kAhead = 8;

bool AtOnce(const BlockUse& a, const BlockUse& b) {
  return a.from < b.until && b.from < a.until;
}

// Places for blocks, tried in several orders. One block after another goes to
// the lowest place where it is apart from those that are there already; then
// the block at the very top goes before others, and all are placed anew.
class PlaceSearch {
 public:
  PlaceSearch(std::span<const BlockUse> uses, BlockPlaces& found)
      : uses_(uses), found_(found), pairs_(kMostPairs) {
    for (size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].until != BlockUse::kStays) blocks_.push_back(i);
    }
    FindMostBeside();
  }

  void Run() {
    const auto bytes = [&](size_t i) {
      return static_cast<double>(uses_[i].bytes);
    };
    const auto area = [&](size_t i) {
      return bytes(i) * static_cast<double>(uses_[i].until - uses_[i].from);
    };
    const auto beside = [&](size_t i) {
      return static_cast<double>(most_beside_[i]);
    };
    std::vector<std::vector<size_t>> orders(3, blocks_);
    const auto sort = [](std::vector<size_t>& order, auto first, auto then) {
      std::ranges::stable_sort(order, [&](size_t a, size_t b) {
        const double x = first(a), y = first(b);
        return x > y || (x == y && then(a) > then(b));
      });
    };
    sort(orders[0], bytes, bytes);
    sort(orders[1], area, bytes);
    sort(orders[2], beside, bytes);
    for (size_t k = 0; k < orders.size() && Try(orders[k]); ++k) {
    }
    for (size_t k = 0; k < orders.size() && Improve(orders[k]); ++k) {
    }
  }

 private:
  static constexpr int kRounds = 40;

  // The most that is in use at once, and that is at a time when a block is.
  void FindMostBeside() {
    std::vector<std::pair<int64_t, int64_t>> changes;  // when, by how much
    for (const size_t i : blocks_) {
      changes.emplace_back(uses_[i].from, found_.Room(i));
      changes.emplace_back(uses_[i].until, -found_.Room(i));
    }
    std::ranges::sort(changes);
    std::vector<int64_t> when, sums;
    int64_t sum = 0;
    for (const auto& [at, by] : changes) {
      sum += by;
      least_ = std::max(least_, sum);
      if (!when.empty() && when.back() == at) {
        sums.back() = sum;
      } else {
        when.push_back(at);
        sums.push_back(sum);
      }
    }
    most_beside_.resize(uses_.size());
    for (const size_t i : blocks_) {
      const auto begin = std::ranges::lower_bound(when, uses_[i].from);
      const auto end = std::ranges::lower_bound(when, uses_[i].until);
      for (auto at = begin; at != end; ++at) {
        most_beside_[i] = std::max(most_beside_[i], sums[at - when.begin()]);
      }
    }
  }

  // Places all in an order, and keeps that if it is the best so far; false if
  // the search is over. The last place that reaches the top is `top_`.
  bool Try(const std::vector<size_t>& order) {
    offsets_.assign(uses_.size(), BlockPlaces::kElsewhere);
    placed_.clear();
    int64_t total = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      const size_t i = order[k];
      const int64_t room = found_.Room(i);
      int64_t offset = 0;
      for (const size_t j : placed_) {
        if (!AtOnce(uses_[i], uses_[j])) continue;
        if (offsets_[j] >= offset + room) break;
        offset = std::max(offset, offsets_[j] + found_.Room(j));
      }
      pairs_ -= static_cast<int64_t>(placed_.size());
      offsets_[i] = offset;
      if (offset + room >= total) {
        total = offset + room;
        top_ = k;
      }
      placed_.insert(
          std::ranges::upper_bound(placed_, offset, {},
                                   [&](size_t j) { return offsets_[j]; }),
          i);
    }
    if (!any_ || total < found_.total) {
      any_ = true;
      found_.offsets = offsets_;
      found_.total = total;
    }
    return found_.total > least_ && pairs_ > 0;
  }

  // By turns to the beginning and half way there.
  bool Improve(std::vector<size_t> order) {
    bool goes_on = Try(order);
    for (int round = 0; goes_on && round < kRounds; ++round) {
      const auto top = order.begin() + static_cast<int64_t>(top_);
      const auto to =
          order.begin() + static_cast<int64_t>(round % 2 == 0 ? 0 : top_ / 2);
      std::rotate(to, top, top + 1);
      goes_on = Try(order);
    }
    return goes_on;
  }

  const std::span<const BlockUse> uses_;
  BlockPlaces& found_;
  std::vector<size_t> blocks_;  // those that have places
  std::vector<int64_t> most_beside_;
  int64_t least_ = 0;
  int64_t pairs_;
  bool any_ = false;
  std::vector<int64_t> offsets_;
  std::vector<size_t> placed_;  // by their offsets
  size_t top_ = 0;
};

}  // namespace

BlockPlaces PlaceBlocks(std::span<const BlockUse> uses, int64_t header) {
  BlockPlaces out;
  out.header = header;
  out.offsets.assign(uses.size(), BlockPlaces::kElsewhere);
  for (const BlockUse& use : uses) out.bytes.push_back(use.bytes);
  if (uses.size() > kMostPlaced) return out;
  PlaceSearch(uses, out).Run();
  return out;
}

int64_t BlockRun::Take(int64_t bytes) {
  uses.push_back({bytes, events++, BlockUse::kStays});
  ++blocks;
  return static_cast<int64_t>(uses.size()) - 1;
}

int64_t BlockRun::Follow(int64_t bytes) {
  size_t i = next;
  const size_t end = std::min(places->bytes.size(), next + kAhead);
  while (i < end && places->bytes[i] != bytes) ++i;
  if (i == end) {
    missed = true;
    return -1;
  }
  missed |= i != next;
  next = i + 1;
  const int64_t offset = places->offsets[i];
  if (offset == BlockPlaces::kElsewhere) return -1;
  for (const int64_t j : used) {
    const auto o = static_cast<size_t>(j);
    if (offset < places->offsets[o] + places->Room(o) &&
        places->offsets[o] < offset + places->Room(i)) {
      missed = true;
      return -1;
    }
  }
  ++blocks;
  used.push_back(static_cast<int64_t>(i));
  return static_cast<int64_t>(i);
}

void BlockRun::Give(int64_t number) {
  --blocks;
  if (places == nullptr) {
    if (open) uses[static_cast<size_t>(number)].until = events++;
    return;
  }
  std::erase(used, number);
}

}  // namespace proa::inline v0
