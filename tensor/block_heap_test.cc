#include "tensor/block_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace proa::inline v0 {
namespace {

constexpr size_t kRegion = 1 << 20;
constexpr size_t kPage = 4096;

class BlockHeapTest : public ::testing::Test {
 protected:
  void AddRegion() {
    regions_.push_back(
        static_cast<char*>(::operator new (kRegion, std::align_val_t{kPage})));
    heap_.AddRegion(regions_.back(), kRegion);
  }
  void TearDown() override {
    for (char* r : regions_) {
      ::operator delete (r, std::align_val_t{kPage});
    }
  }

  BlockHeap heap_;
  std::vector<char*> regions_;
};

TEST_F(BlockHeapTest, EmptyHasNothing) {
  EXPECT_EQ(heap_.Allocate(1), nullptr);
  EXPECT_EQ(heap_.largest_free(), 0u);
  void* base;
  size_t bytes;
  EXPECT_FALSE(heap_.TakeFreePages(kPage, &base, &bytes));
}

TEST_F(BlockHeapTest, TakesAWholeRegion) {
  AddRegion();
  const size_t most = kRegion - BlockHeap::kRegionOverhead;
  EXPECT_EQ(heap_.largest_free(), most);
  EXPECT_EQ(heap_.Allocate(most + 1), nullptr);
  void* p = heap_.Allocate(most);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % BlockHeap::kAlignment, 0u);
  EXPECT_EQ(heap_.free_bytes(), 0u);
  heap_.Free(p);
  EXPECT_EQ(heap_.largest_free(), most);
  EXPECT_EQ(heap_.free_page_bytes(kPage), kRegion);
}

TEST_F(BlockHeapTest, NeighboursComeTogetherInAnyOrder) {
  AddRegion();
  int order[4] = {0, 1, 2, 3};
  do {
    void* p[4];
    for (void*& q : p) q = heap_.Allocate(1000);
    for (int i : order) heap_.Free(p[i]);
    EXPECT_EQ(heap_.free_page_bytes(kPage), kRegion);
  } while (std::next_permutation(order, order + 4));
}

TEST_F(BlockHeapTest, UnusedPagesLeave) {
  AddRegion();
  AddRegion();
  void* p = heap_.Allocate(1000);
  void *base, *other;
  size_t bytes, rest;
  ASSERT_TRUE(heap_.TakeFreePages(kPage, &base, &bytes));
  ASSERT_TRUE(heap_.TakeFreePages(kPage, &other, &rest));
  // All of one region, and all but the first page of the other.
  EXPECT_EQ(bytes + rest, 2 * kRegion - kPage);
  EXPECT_FALSE(heap_.TakeFreePages(kPage, &base, &bytes));
  heap_.Free(p);
  EXPECT_TRUE(heap_.TakeFreePages(kPage, &base, &bytes));
  EXPECT_EQ(bytes, kPage);
  EXPECT_EQ(heap_.free_bytes(), 0u);
}

TEST_F(BlockHeapTest, PagesLeaveBetweenUsedBlocks) {
  AddRegion();
  void* low = heap_.Allocate(1000);
  void* middle = heap_.Allocate(kRegion / 2);
  void* high = heap_.Allocate(1000);
  heap_.Free(middle);
  std::memset(low, 1, 1000);
  std::memset(high, 1, 1000);
  std::map<char*, size_t> taken;
  void* base;
  size_t bytes, sum = 0;
  while (heap_.TakeFreePages(kPage, &base, &bytes)) {
    std::memset(base, 0xff, bytes);
    taken[static_cast<char*>(base)] = bytes;
    sum += bytes;
  }
  EXPECT_EQ(taken.size(), 2u);
  EXPECT_GE(sum, kRegion - 4 * kPage);
  // What is left works.
  void* small = heap_.Allocate(100);
  ASSERT_NE(small, nullptr);
  heap_.Free(high);
  heap_.Free(small);
  heap_.Free(low);
  for (sum = 0; heap_.TakeFreePages(kPage, &base, &bytes); sum += bytes) {
  }
  for (const auto& [at, size] : taken) sum += size;
  EXPECT_EQ(sum, kRegion);
  EXPECT_EQ(heap_.free_bytes(), 0u);
}

TEST_F(BlockHeapTest, RegionsGrow) {
  char* base =
      static_cast<char*>(::operator new (kRegion, std::align_val_t{kPage}));
  regions_.push_back(base);
  heap_.AddRegion(base, kRegion / 4);
  void* p = heap_.Allocate(1000);
  char* end = base + kRegion / 4;
  const size_t before = BlockHeap::FreeBefore(end);
  EXPECT_EQ(before, heap_.free_bytes());
  heap_.ExtendRegion(end, kRegion / 4);
  end += kRegion / 4;
  EXPECT_EQ(BlockHeap::FreeBefore(end), before + kRegion / 4);
  // Behind a used block too.
  void* q = heap_.Allocate(heap_.largest_free());
  EXPECT_EQ(BlockHeap::FreeBefore(end), 0u);
  heap_.ExtendRegion(end, kRegion / 2);
  EXPECT_EQ(heap_.free_bytes(), kRegion / 2);
  heap_.Free(p);
  heap_.Free(q);
  EXPECT_EQ(heap_.free_page_bytes(kPage), kRegion);
}

TEST_F(BlockHeapTest, RandomUse) {
  AddRegion();
  AddRegion();
  std::mt19937 random(1);
  std::map<char*, std::pair<size_t, char>> live;
  for (int step = 0; step < 50000; ++step) {
    if (live.empty() || random() % 100 < 55) {
      const size_t bytes = random() % (random() % 8 == 0 ? 100000 : 3000) + 1;
      char* p = static_cast<char*>(heap_.Allocate(bytes));
      if (p == nullptr) continue;
      ASSERT_GE(BlockHeap::UsableSize(p), bytes);
      auto next = live.lower_bound(p);
      ASSERT_TRUE(next == live.end() || p + bytes <= next->first);
      const char mark = static_cast<char>(random());
      std::memset(p, mark, bytes);
      live[p] = {bytes, mark};
    } else {
      auto it = std::next(live.begin(), random() % live.size());
      const auto [bytes, mark] = it->second;
      for (size_t i = 0; i < bytes; i += 61) ASSERT_EQ(it->first[i], mark);
      heap_.Free(it->first);
      live.erase(it);
    }
  }
  for (auto& [p, rest] : live) heap_.Free(p);
  EXPECT_EQ(heap_.free_page_bytes(kPage), 2 * kRegion);
}

TEST_F(BlockHeapTest, DoubleFreeIsNoticed) {
  AddRegion();
  void* p = heap_.Allocate(1000);
  void* q = heap_.Allocate(1000);
  heap_.Free(p);
  EXPECT_DEATH(heap_.Free(p), "freed twice");
  heap_.Free(q);
  EXPECT_DEATH(heap_.Free(q), "freed twice");
}

TEST(PlaceBlocksTest, BlocksInUseAtOnceAreApart) {
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<BlockUse> uses;
    const int n = static_cast<int>(rng() % 40);
    for (int i = 0; i < n; ++i) {
      const auto from = static_cast<int64_t>(rng() % 60);
      uses.push_back({static_cast<int64_t>(1 + rng() % 1000), from,
                      rng() % 10 == 0
                          ? BlockUse::kStays
                          : from + 1 + static_cast<int>(rng() % 20)});
    }
    const BlockPlaces places = PlaceBlocks(uses, 64);
    int64_t all = 0;
    for (size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].until == BlockUse::kStays) {
        EXPECT_EQ(places.offsets[i], BlockPlaces::kElsewhere);
        continue;
      }
      all += places.Room(i);
      EXPECT_EQ(places.offsets[i] % 64, 0);
      EXPECT_LE(places.offsets[i] + places.Room(i), places.total);
      for (size_t j = 0; j < i; ++j) {
        const bool at_once = uses[j].until != BlockUse::kStays &&
                             uses[i].from < uses[j].until &&
                             uses[j].from < uses[i].until;
        if (!at_once) continue;
        EXPECT_TRUE(places.offsets[i] >= places.offsets[j] + places.Room(j) ||
                    places.offsets[j] >= places.offsets[i] + places.Room(i));
      }
    }
    EXPECT_LE(places.total, all);
  }
}

TEST(PlaceBlocksTest, OneAfterTheOtherShareAPlace) {
  const BlockPlaces places = PlaceBlocks(
      std::vector<BlockUse>{{100, 0, 2}, {300, 1, 4}, {128, 3, 5}}, 64);
  EXPECT_EQ(places.total, 384 + 192);
  EXPECT_EQ(PlaceBlocks({}, 64).total, 0);
}

TEST(PlaceBlocksTest, SeveralOrdersAreTried) {
  // Largest first, these take 640.
  const BlockPlaces places = PlaceBlocks(
      std::vector<BlockUse>{{192, 4, 5}, {192, 3, 6}, {320, 2, 3}, {64, 1, 4}},
      64);
  EXPECT_EQ(places.total, 512);
}

// As in a training step: what the first half makes the second half takes, last
// first, and each step has its own besides.
TEST(PlaceBlocksTest, NearToWhatIsInUseAtOnce) {
  std::mt19937 rng(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<BlockUse> uses;
    const int64_t steps = 20 + static_cast<int64_t>(rng() % 60);
    for (int64_t i = 0; i < steps; ++i) {
      const auto bytes = static_cast<int64_t>(1 + rng() % 4096) * 64;
      uses.push_back({bytes, i, 2 * steps - i});
      uses.push_back({bytes / 2, i, i + 2});
      uses.push_back({bytes, 2 * steps - i - 1, 2 * steps - i + 1});
    }
    const BlockPlaces places = PlaceBlocks(uses, 64);
    int64_t most = 0;
    for (int64_t at = 0; at <= 2 * steps + 1; ++at) {
      int64_t sum = 0;
      for (size_t i = 0; i < uses.size(); ++i) {
        if (uses[i].from <= at && at < uses[i].until) sum += places.Room(i);
      }
      most = std::max(most, sum);
    }
    EXPECT_GE(places.total, most);
    EXPECT_LE(places.total, most + most / 20);
  }
}

}  // namespace
}  // namespace proa::inline v0
