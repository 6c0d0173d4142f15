#include "tensor/allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/block_heap.h"
#include "tensor/block_pool.h"
#include "tensor/error.h"
#include "tensor/system_memory.h"

namespace proa::inline v0 {
namespace {

constexpr bool kKeeps = PROA_POOLS_KEEP_BLOCKS != 0;
constexpr int64_t kMiB = 1 << 20;

class AllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    allocator_.Release();
    allocator_.ResetPeak();
  }
  void TearDown() override {
    allocator_.SetCap(std::numeric_limits<int64_t>::max());
  }
  Allocator& allocator_ = CpuAllocator();
};

TEST_F(AllocatorTest, FiguresFollow) {
  const MemoryFigures before = allocator_.Figures();
  EXPECT_EQ(before.allocated, 0);
  void* p = allocator_.Allocate(10 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % Allocator::kAlignment, 0u);
  std::memset(p, 1, 10 * kMiB);
  MemoryFigures f = allocator_.Figures();
  EXPECT_GE(f.allocated, 10 * kMiB);
  EXPECT_LT(f.allocated, 11 * kMiB);
  EXPECT_GE(f.reserved, f.allocated);
  EXPECT_EQ(f.allocations, before.allocations + 1);
  allocator_.Free(p, 10 * kMiB);
  f = allocator_.Figures();
  EXPECT_EQ(f.allocated, 0);
  EXPECT_GE(f.peak_allocated, 10 * kMiB);
  if (kKeeps) {
    EXPECT_GE(f.reserved, 10 * kMiB);
    EXPECT_EQ(f.releasable, f.reserved);
    EXPECT_GE(f.largest_free, 10 * kMiB);
    EXPECT_EQ(allocator_.Release(), f.reserved);
  }
  EXPECT_EQ(allocator_.Figures().reserved, 0);
  EXPECT_GE(allocator_.Figures().peak_reserved, 10 * kMiB);
  allocator_.ResetPeak();
  EXPECT_EQ(allocator_.Figures().peak_reserved, 0);
}

TEST_F(AllocatorTest, KeepsAndReuses) {
  if (!kKeeps) GTEST_SKIP() << "nothing is kept under the address sanitizer";
  for (int64_t bytes : {300, 5000, 1000000, 5000000, 100000000}) {
    void* p = allocator_.Allocate(bytes);
    const int64_t reserved = allocator_.Figures().reserved;
    allocator_.Free(p, bytes);
    EXPECT_EQ(allocator_.Allocate(bytes), p);
    EXPECT_EQ(allocator_.Figures().reserved, reserved);
    allocator_.Free(p, bytes);
  }
}

TEST_F(AllocatorTest, SmallBlocksDoNotHoldLargeRegions) {
  if (!kKeeps) GTEST_SKIP() << "nothing is kept under the address sanitizer";
  void* large = allocator_.Allocate(64 * kMiB);
  void* small = allocator_.Allocate(1000);
  allocator_.Free(large, 64 * kMiB);
  EXPECT_GE(allocator_.Release(), 64 * kMiB);
  allocator_.Free(small, 1000);
}

TEST_F(AllocatorTest, BlocksThatLastDoNotPartOthers) {
  if (!kKeeps) GTEST_SKIP() << "nothing is kept under the address sanitizer";
  constexpr int64_t kBytes = 4 * kMiB;
  allocator_.Free(allocator_.Allocate(4 * kBytes), 4 * kBytes);
  void* before = allocator_.Allocate(kBytes);
  void* lasting;
  {
    const LastingBlocks scope;
    lasting = allocator_.Allocate(kBytes);
  }
  void* behind = allocator_.Allocate(kBytes);
  allocator_.Free(before, kBytes);
  allocator_.Free(behind, kBytes);
  const int64_t reserved = allocator_.Figures().reserved;
  void* all = allocator_.Allocate(4 * kBytes);
  EXPECT_EQ(allocator_.Figures().reserved, reserved);
  allocator_.Free(all, 4 * kBytes);
  allocator_.Free(lasting, kBytes);
  // It came back to where it was taken from.
  const LastingBlocks scope;
  EXPECT_EQ(allocator_.Allocate(kBytes), lasting);
  EXPECT_EQ(allocator_.Figures().reserved, reserved);
  allocator_.Free(lasting, kBytes);
  allocator_.Release();
  EXPECT_EQ(allocator_.Figures().reserved, 0);
}

TEST_F(AllocatorTest, CapIsKept) {
  allocator_.SetCap(16 * kMiB);
  void* p = allocator_.Allocate(8 * kMiB);
  try {
    allocator_.Allocate(12 * kMiB);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kResourceExhausted);
    const std::string text = e.what();
    for (const char* part :
         {"cpu: out of memory; asked for 12.00 MiB", "in use are 8.",
          "could be released", "the cap is 16.00 MiB"}) {
      EXPECT_NE(text.find(part), text.npos) << text;
    }
  }
  allocator_.Free(p, 8 * kMiB);
  // What is kept goes back when the cap stands in the way.
  p = allocator_.Allocate(12 * kMiB);
  EXPECT_LE(allocator_.Figures().reserved, 16 * kMiB);
  allocator_.Free(p, 12 * kMiB);
}

TEST_F(AllocatorTest, ImpossibleSizes) {
  for (int64_t bytes : {int64_t{1} << 46, int64_t{1} << 50,
                        std::numeric_limits<int64_t>::max()}) {
    EXPECT_THROW(allocator_.Allocate(bytes), Error) << bytes;
  }
  EXPECT_EQ(allocator_.Figures().allocated, 0);
}

TEST_F(AllocatorTest, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::vector<std::pair<char*, int64_t>> held;
      uint32_t random = t + 1;
      for (int i = 0; i < 5000; ++i) {
        random = random * 1664525 + 1013904223;
        const int64_t bytes = 300 + random % (i % 50 == 0 ? 3000000 : 20000);
        char* p = static_cast<char*>(allocator_.Allocate(bytes));
        p[0] = p[bytes - 1] = static_cast<char>(t);
        held.emplace_back(p, bytes);
        if (held.size() > 20) {
          auto [q, n] = held[random / 7 % held.size()];
          held[random / 7 % held.size()] = held.back();
          held.pop_back();
          EXPECT_TRUE(q[0] == t && q[n - 1] == t);
          allocator_.Free(q, n);
        }
      }
      for (auto [q, n] : held) allocator_.Free(q, n);
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(allocator_.Figures().allocated, 0);
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of threads
TEST_F(AllocatorTest, WorksInAForkedChild) {
  const pid_t child = fork();
  if (child == 0) {
    void* p = CpuAllocator().Allocate(kMiB);
    std::memset(p, 1, kMiB);
    CpuAllocator().Free(p, kMiB);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

TEST(FormatBytes, Units) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(int64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<int64_t>::max()), "8.00 EiB");
}

TEST(BlockPool, KeepsAtMostItsShare) {
  if (!kKeeps) GTEST_SKIP() << "nothing is kept under the address sanitizer";
  struct Tag {};
  using Pool = BlockPool<64, 64, 2, Tag>;
  void* a = Pool::Take();
  void* b = Pool::Take();
  void* c = Pool::Take();
  Pool::Give(a);
  Pool::Give(b);
  Pool::Give(c);  // one too many
  EXPECT_EQ(Pool::Take(), b);
  EXPECT_EQ(Pool::Take(), a);
  Pool::Give(a);
  Pool::Give(b);
}

TEST(BlockPool, BlocksMoveBetweenThreads) {
  struct Tag {};
  using Pool = BlockPool<64, 64, 8, Tag>;
  std::vector<void*> blocks;
  std::thread([&] {
    for (int i = 0; i < 20; ++i) blocks.push_back(Pool::Take());
  }).join();
  // Given back on a thread that ends, whose list is then cleaned up.
  std::thread([&] {
    for (void* b : blocks) Pool::Give(b);
  }).join();
}

class PlannedBlocksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kKeeps) GTEST_SKIP() << "nothing is kept";
    allocator_.Release();
  }
  void TearDown() override {
    allocator_.SetCap(std::numeric_limits<int64_t>::max());
  }
  void* Take(int64_t mib) {
    void* p = allocator_.Allocate(mib * kMiB);
    std::memset(p, static_cast<int>(mib), static_cast<size_t>(mib * kMiB));
    return p;
  }
  void Give(void* p, int64_t mib) {
    const auto* bytes = static_cast<const unsigned char*>(p);
    for (int64_t i = 0; i < mib * kMiB; i += 4093) {
      ASSERT_EQ(bytes[i], mib) << "overwritten";
    }
    allocator_.Free(p, mib * kMiB);
  }
  // A heap that sees one block at a time needs 36 MiB for it. At most 28 are in
  // use at once.
  void Work() {
    void* a = Take(12);
    void* b = Take(3);
    Give(a, 12);
    void* c = Take(3);
    void* d = Take(12);
    void* e = Take(10);
    Give(b, 3);
    Give(d, 12);
    Give(c, 3);
    Give(e, 10);
  }

  Allocator& allocator_ = CpuAllocator();
};

TEST_F(PlannedBlocksTest, RunsNeedWhatIsInUseAtOnce) {
  const auto plan = std::make_shared<MemoryPlan>();
  EXPECT_TRUE(plan->wants_record());
  for (int run = 0; run < 3; ++run) {
    allocator_.ResetPeak();
    {
      const PlannedBlocks blocks(plan);
      Work();
    }
    EXPECT_LE(allocator_.Figures().peak_reserved, 31 * kMiB) << run;
    EXPECT_EQ(allocator_.Figures().allocated, 0) << run;
    ASSERT_NE(plan->places(), nullptr);
    EXPECT_LE(plan->places()->total, 29 * kMiB);
  }
  allocator_.Release();
  EXPECT_EQ(allocator_.Figures().reserved, 0);
}

TEST_F(PlannedBlocksTest, WhatStaysIsItsOwn) {
  const auto plan = std::make_shared<MemoryPlan>();
  std::vector<void*> results;
  for (int run = 0; run < 3; ++run) {
    const PlannedBlocks blocks(plan);
    void* a = Take(2);
    results.push_back(Take(5));
    Give(a, 2);
  }
  for (void* p : results) Give(p, 5);
  EXPECT_EQ(allocator_.Figures().allocated, 0);
}

TEST_F(PlannedBlocksTest, AnotherRunIsRightAndIsLearned) {
  const auto plan = std::make_shared<MemoryPlan>();
  {
    const PlannedBlocks blocks(plan);
    void* a = Take(2);
    Give(a, 2);
    void* b = Take(2);
    Give(b, 2);
  }
  void* kept;
  {
    // The first lives longer than the plan says, and beyond the run.
    const PlannedBlocks blocks(plan);
    kept = Take(2);
    void* b = Take(2);
    void* c = Take(7);
    Give(b, 2);
    Give(c, 7);
  }
  EXPECT_EQ(plan->places(), nullptr);
  EXPECT_TRUE(plan->wants_record());
  {
    const PlannedBlocks blocks(plan);
    void* a = Take(2);
    Give(a, 2);
  }
  EXPECT_NE(plan->places(), nullptr);
  Give(kept, 2);
  EXPECT_EQ(allocator_.Figures().allocated, 0);
}

TEST_F(PlannedBlocksTest, AnErrorIsForgotten) {
  const auto plan = std::make_shared<MemoryPlan>();
  try {
    const PlannedBlocks blocks(plan);
    Give(Take(2), 2);
    throw std::runtime_error("half a run");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(plan->places(), nullptr);
  EXPECT_TRUE(plan->wants_record());
}

TEST_F(PlannedBlocksTest, RunsOfChanceHaveNoPlanInTheEnd) {
  const auto plan = std::make_shared<MemoryPlan>();
  std::mt19937 rng(2);
  std::vector<std::pair<void*, int64_t>> lasting;
  for (int run = 0; run < 50; ++run) {
    const PlannedBlocks blocks(plan);
    std::vector<std::pair<void*, int64_t>> live;
    for (int i = 0; i < 20; ++i) {
      if (rng() % 2 == 0 && !live.empty()) {
        Give(live.back().first, live.back().second);
        live.pop_back();
      } else {
        const auto mib = static_cast<int64_t>(1 + rng() % 9);
        live.emplace_back(Take(mib), mib);
      }
    }
    for (size_t i = 0; i < live.size(); ++i) {
      if (i == 0 && run % 5 == 0) {
        lasting.push_back(live[i]);
      } else {
        Give(live[i].first, live[i].second);
      }
    }
  }
  EXPECT_FALSE(plan->wants_record());
  for (const auto& [p, mib] : lasting) Give(p, mib);
  EXPECT_EQ(allocator_.Figures().allocated, 0);
}

TEST_F(PlannedBlocksTest, ManyThreadsFollowOnePlan) {
  const auto plan = std::make_shared<MemoryPlan>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int run = 0; run < 10; ++run) {
        const PlannedBlocks blocks(plan);
        Work();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(allocator_.Figures().allocated, 0);
}

TEST_F(PlannedBlocksTest, TheCapHolds) {
  const auto plan = std::make_shared<MemoryPlan>();
  for (int run = 0; run < 2; ++run) {
    const PlannedBlocks blocks(plan);
    Work();
  }
  allocator_.Release();
  allocator_.SetCap(20 * kMiB);
  {
    const PlannedBlocks blocks(plan);
    void* a = Take(12);
    Give(a, 12);
    EXPECT_ANY_THROW(allocator_.Allocate(30 * kMiB));
  }
  EXPECT_EQ(allocator_.Figures().allocated, 0);
}

}  // namespace
}  // namespace proa::inline v0
