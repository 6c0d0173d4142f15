// One source, three instruction sets: all linked into one program, and the same
// bits from each that this CPU has.
#include <string>
#include <vector>

#include "bazel/testing/scale.h"
#include "gtest/gtest.h"

namespace proa {
namespace {

const std::vector<float> kInput = {1.1f, 2.3f, -3.7f, 1e-20f, 1e20f};

TEST(IsaLibraries, EachVariantKnowsItsName) {
  EXPECT_EQ(std::string(isa::sse2::Name()), "sse2");
  EXPECT_EQ(std::string(isa::avx2::Name()), "avx2");
  EXPECT_EQ(std::string(isa::avx512::Name()), "avx512");
}

TEST(IsaLibraries, Avx2GivesTheBitsOfSse2) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "CPU without AVX2";
  EXPECT_EQ(isa::avx2::Scale(kInput, 1.3f, 0.7f),
            isa::sse2::Scale(kInput, 1.3f, 0.7f));
}

TEST(IsaLibraries, Avx512GivesTheBitsOfSse2) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "CPU without AVX-512";
  EXPECT_EQ(isa::avx512::Scale(kInput, 1.3f, 0.7f),
            isa::sse2::Scale(kInput, 1.3f, 0.7f));
}

}  // namespace
}  // namespace proa
