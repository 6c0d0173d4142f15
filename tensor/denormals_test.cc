#include "tensor/denormals.h"

#include <cfenv>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/parallel.h"

namespace proa {
namespace {

constexpr float kLeast = std::numeric_limits<float>::denorm_min();

// Not known to the compiler.
float Half(float x) {
  volatile float two = 2;
  return x / two;
}

TEST(Denormals, AreNoneInAScope) {
  volatile float least = kLeast;
  EXPECT_EQ(Half(least * 4), 2 * kLeast);
  const uint32_t before = FloatMode();
  {
    const NoDenormalsScope none;
    EXPECT_EQ(FloatMode(), before | kNoDenormals);
    if (kNoDenormals != 0) {
      EXPECT_EQ(Half(least * 4), 0);
      EXPECT_EQ(Half(std::numeric_limits<float>::min()), 0);
    }
    EXPECT_EQ(Half(1), 0.5f);
  }
  EXPECT_EQ(FloatMode(), before);
  EXPECT_EQ(Half(least * 4), 2 * kLeast);
}

// The modes of the threads that run a loop over so many pieces.
std::vector<uint32_t> Modes(int pieces) {
  std::vector<uint32_t> found(pieces);
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) found[i] = FloatMode();
  });
  return found;
}

TEST(Denormals, LoopsHaveTheModeOfWhoAsks) {
  const int threads = GetNumThreads();
  for (const int n : {4, 1, 3, 4}) {
    SetNumThreads(n);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const uint32_t own = FloatMode();
      EXPECT_EQ(Modes(n), std::vector<uint32_t>(n, own));
      const NoDenormalsScope none;
      EXPECT_EQ(Modes(n), std::vector<uint32_t>(n, own | kNoDenormals));
    }
    // Rounding, too.
    const uint32_t before = FloatMode();
    std::fesetround(FE_DOWNWARD);
    EXPECT_EQ(Modes(n), std::vector<uint32_t>(n, FloatMode()));
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(FloatMode(), before);
  }
  SetNumThreads(threads);
}

}  // namespace
}  // namespace proa
