#include "tensor/allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

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

}  // namespace
}  // namespace proa::inline v0
