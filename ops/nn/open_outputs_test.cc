#include "ops/nn/open_outputs.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops {
namespace {

constexpr int64_t kDim = NamedDim(12345);

TEST(OpenOutputs, WhatKeepsSizesKeepsTheName) {
  EXPECT_EQ(OpenOutputs(kDim, 0, 1), kDim);
  EXPECT_EQ(OpenOutputs(OpenOutputs(kDim, 2, 1), -2, 1), kDim);
}

// Windows of 3 with padding 1 and of 1, both of stride 2.
TEST(OpenOutputs, EqualSizesHaveOneName) {
  const int64_t three = OpenOutputs(kDim, 1 + 1 - 3 + 2, 2);
  EXPECT_TRUE(IsNamed(three));
  EXPECT_NE(three, kDim);
  EXPECT_EQ(three, OpenOutputs(kDim, -1 + 2, 2));
  EXPECT_NE(three, OpenOutputs(NamedDim(12346), -1 + 2, 2));
}

// Equal names are equal numbers, whatever the size is, and the other way round.
TEST(OpenOutputs, TwoInARowAreOne) {
  const auto floor_of = [](int64_t n, int64_t by) {
    return n >= 0 ? n / by : -((-n + by - 1) / by);
  };
  for (int64_t a = -5; a <= 5; ++a) {
    for (int64_t s = 1; s <= 4; ++s) {
      for (int64_t b = -5; b <= 5; ++b) {
        for (int64_t t = 1; t <= 4; ++t) {
          const int64_t twice = OpenOutputs(OpenOutputs(kDim, a, s), b, t);
          EXPECT_EQ(twice, OpenOutputs(kDim, a + b * s, s * t));
          for (int64_t n = 1; n < 40; ++n) {
            EXPECT_EQ(floor_of(floor_of(n + a, s) + b, t),
                      floor_of(n + a + b * s, s * t));
          }
        }
      }
    }
  }
}

TEST(OpenOutputs, WhatHasNoName) {
  EXPECT_EQ(OpenOutputs(kUnknownDim, 0, 1), kUnknownDim);
  EXPECT_EQ(OpenOutputs(kDim, int64_t{1} << 31, 1), kUnknownDim);
  EXPECT_EQ(OpenOutputs(kDim, 0, int64_t{1} << 31), kUnknownDim);
  EXPECT_TRUE(IsNamed(OpenOutputs(kDim, 32767, 1024)));
  EXPECT_EQ(OpenOutputs(OpenOutputs(kDim, 1, 1024), 0, 2), kUnknownDim);
}

}  // namespace
}  // namespace proa::inline v0::ops
