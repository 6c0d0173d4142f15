#include "tensor/block_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

// Addresses that nobody could read.
class BlockCacheTest : public ::testing::Test {
 protected:
  BlockCache cache_{"npu:0",
                    {.allocate = [this](int64_t bytes) -> void* {
                       if (used_ + bytes > limit_) return nullptr;
                       used_ += bytes;
                       next_ += bytes;
                       void* p = reinterpret_cast<void*>(next_ - bytes);
                       sizes_[p] = bytes;
                       return p;
                     },
                     .free =
                         [this](void* p) {
                           EXPECT_TRUE(finished_);
                           used_ -= sizes_.at(p);
                           sizes_.erase(p);
                         },
                     .finish = [this] { finished_ = true; }}};
  std::map<void*, int64_t> sizes_;
  uintptr_t next_ = 4096;
  int64_t used_ = 0, limit_ = 100 << 20;
  bool finished_ = false;
};

TEST_F(BlockCacheTest, KeepsAndReuses) {
  void* a = cache_.Allocate(1000);
  cache_.Free(a, 1000);
  EXPECT_EQ(cache_.Allocate(900), a);  // both round to 1024
  EXPECT_NE(cache_.Allocate(1000), a);
  EXPECT_EQ(used_, 2048);
  EXPECT_EQ(cache_.Figures().allocated, 2048);
  EXPECT_EQ(cache_.Figures().allocations, 3);
  cache_.Free(a, 900);
  EXPECT_EQ(cache_.Figures().releasable, 1024);
  EXPECT_EQ(cache_.Figures().largest_free, 1024);
  EXPECT_NE(cache_.Allocate(100), a);  // too large for that
  EXPECT_EQ(cache_.Release(), 1024);
  EXPECT_EQ(used_, 1024 + 512);
  EXPECT_EQ(cache_.Figures().reserved, 1024 + 512);
  EXPECT_EQ(cache_.Figures().peak_reserved, 2048 + 512);
}

TEST_F(BlockCacheTest, ReleasesBeforeItFails) {
  void* a = cache_.Allocate(60 << 20);
  EXPECT_THROW(cache_.Allocate(50 << 20), Error);
  cache_.Free(a, 60 << 20);
  cache_.Allocate(90 << 20);
  EXPECT_EQ(used_, 90 << 20);
  try {
    cache_.Allocate(20 << 20);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_NE(
        std::string(e.what()).find("npu:0: out of memory; asked for 20.00 MiB"),
        std::string::npos);
  }
}

TEST_F(BlockCacheTest, CapAndImpossibleSizes) {
  cache_.SetCap(1 << 20);
  EXPECT_THROW(cache_.Allocate(2 << 20), Error);
  cache_.Allocate(1000);
  EXPECT_THROW(cache_.Allocate(std::numeric_limits<int64_t>::max()), Error);
  EXPECT_EQ(cache_.Figures().cap, 1 << 20);
}

}  // namespace
}  // namespace proa::inline v0
