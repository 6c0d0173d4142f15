#include "tensor/allocation_hooks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "tensor/place.h"
#include "tensor/storage.h"

namespace proa::inline v0 {
namespace {

int64_t allocated = 0, freed = 0;

constexpr AllocationHooks kCounting = {
    .allocated = [](Place, const void*, int64_t bytes,
                    bool) { allocated += bytes; },
    .freed = [](Place, const void*, int64_t bytes) { freed += bytes; },
};

class AllocationHooksTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { allocated = freed = 0; }
  void TearDown() override {
    InstallAllocationHooks(AllocationHookSlot::kObserve, nullptr);
    SetMemoryFill(MemoryFill::kNone);
  }
};

TEST_P(AllocationHooksTest, FillsEachNewStorage) {
  const int64_t bytes = GetParam();
  SetMemoryFill(MemoryFill::kNan);
  EXPECT_EQ(GetMemoryFill(), MemoryFill::kNan);
  for (int round = 0; round < 2; ++round) {  // blocks that were used too
    const auto s = Storage::Allocate(bytes, Place{});
    const auto* f = static_cast<const float*>(s->data());
    for (int64_t i = 0; i < bytes / 4; ++i) ASSERT_TRUE(std::isnan(f[i]));
    const auto* d = static_cast<const double*>(s->data());
    for (int64_t i = 0; i < bytes / 8; ++i) ASSERT_TRUE(std::isnan(d[i]));
  }
  SetMemoryFill(MemoryFill::kLarge);
  auto s = Storage::Allocate(bytes, Place{});
  auto* f = static_cast<float*>(s->data());
  for (int64_t i = 0; i < bytes / 4; ++i) ASSERT_EQ(f[i], 1e30f);
}

TEST_P(AllocationHooksTest, FillAndObserverTogether) {
  const int64_t bytes = GetParam();
  SetMemoryFill(MemoryFill::kLarge);
  InstallAllocationHooks(AllocationHookSlot::kObserve, &kCounting);
  {
    const auto s = Storage::Allocate(bytes, Place{});
    EXPECT_EQ(*static_cast<const float*>(s->data()), 1e30f);
    EXPECT_EQ(allocated, bytes);
  }
  SetMemoryFill(MemoryFill::kNone);
  Storage::Allocate(bytes, Place{});
  EXPECT_EQ(allocated, 2 * bytes);
  InstallAllocationHooks(AllocationHookSlot::kObserve, nullptr);
  Storage::Allocate(bytes, Place{});
  EXPECT_EQ(allocated, 2 * bytes);
  EXPECT_EQ(freed, bytes > 256 ? 2 * bytes : 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AllocationHooksTest,
                         ::testing::Values(8, 64, 72, 256, 264, 1 << 20));

}  // namespace
}  // namespace proa::inline v0
