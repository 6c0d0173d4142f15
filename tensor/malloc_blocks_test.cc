#include "tensor/malloc_blocks.h"

#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "gtest/gtest.h"
#include "tensor/system_memory.h"

namespace proa::inline v0 {
namespace {

int64_t PageFaults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// What loading pictures does.
int64_t FaultsOfBlocks() {
  const int64_t before = PageFaults();
  for (int i = 0; i < 50; ++i) {
    for (size_t bytes : {750 << 10, 200 << 10, 600 << 10}) {
      const std::unique_ptr<char[]> block(new char[bytes]);
      std::memset(block.get(), i, bytes);
      EXPECT_EQ(block[bytes / 2], static_cast<char>(i));
    }
    const std::unique_ptr<char[]> large(new char[size_t{3} << 20]);
    std::memset(large.get(), i, size_t{3} << 20);
    EXPECT_EQ(large[1], static_cast<char>(i));
  }
  return PageFaults() - before;
}

TEST(MallocBlocks, AreKeptUntilMemoryIsWanted) {
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_",
                           "MALLOC_TOP_PAD_", "GLIBC_TUNABLES"}) {
    unsetenv(name);
  }
  if (!KeepBlocks()) {
    EXPECT_FALSE(KeepMallocBlocks());
    return;
  }
  if (!KeepMallocBlocks()) GTEST_SKIP() << "no glibc, or a sanitizer's malloc";
  EXPECT_TRUE(KeepMallocBlocks());  // once and for all
  FaultsOfBlocks();
  EXPECT_LT(FaultsOfBlocks(), 100);  // 750 pages and more each time before
  EXPECT_TRUE(GiveBackMemory());
  EXPECT_GT(FaultsOfBlocks(), 700);
}

}  // namespace
}  // namespace proa::inline v0
