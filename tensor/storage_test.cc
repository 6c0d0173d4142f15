#include "tensor/storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "tensor/allocator.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

TEST(Storage, AllSizesAreAlignedAndWritable) {
  for (int64_t bytes : {0, 1, 16, 63, 64, 65, 255, 256, 257, 4096, 3 << 20}) {
    auto s = Storage::Allocate(bytes, Place{});
    EXPECT_EQ(s->bytes(), bytes);
    EXPECT_EQ(s->place(), Place{});
    EXPECT_FALSE(s->read_only());
    EXPECT_EQ(s->version(), 0u);
    if (bytes == 0) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(s->data()) % 64, 0u);
    std::memset(s->data(), 0xab, bytes);
  }
  EXPECT_EQ(CpuAllocator().Figures().allocated, 0);
}

TEST(Storage, BlocksAreReusedClean) {
  for (int i = 0; i < 3; ++i) {
    auto s = Storage::Allocate(16, Place{});
    EXPECT_EQ(s->version(), 0u);
    EXPECT_EQ(s->last_writer(), nullptr);
    EXPECT_EQ(s->use_count(), 1);
    s->BumpVersion();
    s->set_last_writer("add_");
  }
}

TEST(Storage, BadSizes) {
  EXPECT_THROW(Storage::Allocate(-1, Place{}), Error);
  EXPECT_THROW(Storage::Allocate(std::numeric_limits<int64_t>::max(), Place{}),
               Error);
  EXPECT_THROW(Storage::Allocate(16, Place{DeviceKind::kGPU, 0}), Error);
}

TEST(Storage, WrapGivesBackOnce) {
  int released = 0;
  char memory[8];
  {
    auto s = Storage::Wrap(
        memory, 8, Place{}, [&] { ++released; }, true);
    auto t = s;
    EXPECT_EQ(t->data(), memory);
    EXPECT_TRUE(t->read_only());
    EXPECT_EQ(t->use_count(), 2);
    s = nullptr;
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  Storage::Wrap(memory, 8, Place{}, nullptr);
  EXPECT_THROW(Storage::Wrap(memory, -8, Place{}, nullptr), Error);
}

TEST(Storage, SharedBetweenThreads) {
  auto s = Storage::Allocate(64, Place{});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([s] {
      for (int i = 0; i < 1000; ++i) {
        auto copy = s;
        copy->BumpVersion();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(s->use_count(), 1);
  EXPECT_EQ(s->version(), 4000u);
}

}  // namespace
}  // namespace proa::inline v0
