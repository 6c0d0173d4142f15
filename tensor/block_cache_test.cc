#include "tensor/block_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

StreamTag* Stream(uintptr_t number) {
  return reinterpret_cast<StreamTag*>(number);
}

TEST(BlockCacheStreams, ABlockGoesToItsOwnStreamFirst) {
  StreamTag* current = Stream(1);
  uintptr_t next = 4096;
  std::vector<std::pair<StreamTag*, StreamTag*>> orders;
  BlockCache cache("npu:0", {.allocate =
                                 [&](int64_t bytes) {
                                   next += bytes;
                                   return reinterpret_cast<void*>(next - bytes);
                                 },
                             .free = [](void*) {},
                             .finish = [] {},
                             .stream = [&] { return current; },
                             .order =
                                 [&](StreamTag* earlier, StreamTag* later) {
                                   orders.emplace_back(earlier, later);
                                 }});
  void* a = cache.Allocate(512);
  current = Stream(2);
  void* b = cache.Allocate(512);
  cache.Free(a, 512);
  cache.Free(b, 512);
  EXPECT_EQ(cache.Allocate(512), b);  // not a, which was the first
  EXPECT_TRUE(orders.empty());
  EXPECT_EQ(cache.Allocate(512), a);  // of stream 1
  EXPECT_EQ(orders, (std::vector{std::pair{Stream(1), Stream(2)}}));
  orders.clear();
  cache.UseOn(a, Stream(3));
  cache.UseOn(a, Stream(3));
  cache.UseOn(a, Stream(2));  // its own
  cache.Free(a, 512);
  EXPECT_EQ(cache.Allocate(512), a);
  EXPECT_EQ(orders, (std::vector{std::pair{Stream(3), Stream(2)}}));
  orders.clear();
  cache.Free(a, 512);
  EXPECT_EQ(cache.Allocate(512), a);  // the order stands already
  EXPECT_TRUE(orders.empty());
  cache.Free(a, 512);
  cache.ForgetStream(Stream(2));  // it is gone, with a behind it
  current = Stream(1);
  EXPECT_EQ(cache.Allocate(512), a);
  EXPECT_TRUE(orders.empty());
  cache.Free(a, 512);
  cache.Free(b, 512);
}

}  // namespace
}  // namespace proa::inline v0
