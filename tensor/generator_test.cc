#include "tensor/generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/error.h"
#include "tensor/philox.h"

namespace proa::inline v0 {
namespace {

using Words = std::array<uint32_t, 4>;

// From the file of known answers of Random123 ("philox4x32 10").
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t k1 = 0xffffffff;
  EXPECT_EQ(Philox4x32({k1, k1, k1, k1}, {k1, k1}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsConstexpr) {
  static_assert(Philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
  static_assert(PhiloxStream(0, 0).Block(0)[0] == 0x6627e8d5);
}

TEST(Philox, UniformLimits) {
  EXPECT_EQ(UniformFloat(0), 0.f);
  EXPECT_EQ(UniformFloat(0xffffffff), 1.f - 0x1p-24f);
  EXPECT_EQ(UniformDouble(0, 0), 0.);
  EXPECT_EQ(UniformDouble(0xffffffff, 0xffffffff), 1. - 0x1p-53);
  EXPECT_EQ(UniformInt(0xffffffff, 0xffffffff, 10), 9u);
  EXPECT_EQ(UniformInt(0, 0, 10), 0u);
  EXPECT_EQ(UniformInt(0xffffffff, 0xffffffff, ~uint64_t{0}), ~uint64_t{0} - 1);
}

TEST(Philox, NormalIsFiniteAtTheEnds) {
  for (uint32_t a : {0u, 1u, 0x7fffffffu, 0xffffff7fu, 0xffffffffu}) {
    for (uint32_t b : {0u, 0xffffffffu}) {
      EXPECT_TRUE(std::isfinite(NormalFloat(a, b).first)) << a << " " << b;
      EXPECT_TRUE(std::isfinite(NormalFloat(a, b).second));
      EXPECT_TRUE(std::isfinite(NormalDouble({a, a, b, b}).first));
    }
  }
}

TEST(Philox, Moments) {
  const PhiloxStream stream(7, 0);
  double sum = 0, square = 0, uniform = 0;
  constexpr int kBlocks = 100000;
  for (int i = 0; i < kBlocks; ++i) {
    const Words r = stream.Block(i);
    for (uint32_t w : r) uniform += UniformFloat(w);
    for (auto [x, y] : {NormalFloat(r[0], r[1]), NormalFloat(r[2], r[3])}) {
      sum += x + y;
      square += x * x + y * y;
    }
  }
  constexpr double kCount = 4.0 * kBlocks;
  EXPECT_NEAR(uniform / kCount, 0.5, 5 * 0.2887 / std::sqrt(kCount));
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(square / kCount, 1, 5 * 1.4142 / std::sqrt(kCount));
}

TEST(Generator, PartsDoNotOverlap) {
  Generator g(42);
  EXPECT_EQ(g.Reserve(5).offset(), 0u);
  EXPECT_EQ(g.Reserve(0).offset(), 2u);
  EXPECT_EQ(g.Reserve(4).offset(), 2u);
  EXPECT_EQ(g.Reserve(1).offset(), 3u);
  EXPECT_EQ(g.state(), (GeneratorState{42, 4}));
  EXPECT_THROW(g.Reserve(-1), Error);
  g.Reserve(std::numeric_limits<int64_t>::max());
}

TEST(Generator, StateComesBack) {
  Generator g(1);
  g.Reserve(9);
  const GeneratorState state = g.state();
  const auto block = g.Reserve(4).Block(0);
  g.Seed(5);
  EXPECT_EQ(g.state(), (GeneratorState{5, 0}));
  g.set_state(state);
  EXPECT_EQ(g.Reserve(4).Block(0), block);
}

TEST(Generator, OneForEachDevice) {
  SeedAll(3);
  Generator& cpu = DefaultGenerator(Place{});
  Generator& other = DefaultGenerator(Place{DeviceKind::kGPU, 1});
  EXPECT_NE(&cpu, &other);
  EXPECT_EQ(&other, &DefaultGenerator(Place{DeviceKind::kGPU, 1}));
  EXPECT_EQ(cpu.seed(), 3u);
  EXPECT_EQ(other.seed(), 3u);
  cpu.Reserve(100);
  SeedAll(3);
  EXPECT_EQ(cpu.state(), other.state());
}

}  // namespace
}  // namespace proa::inline v0
