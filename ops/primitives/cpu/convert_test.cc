#include "ops/primitives/cpu/convert.h"

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Bits of float32, one in four special: zeros, infinities, NaN, denormals,
// halves between two of bfloat16, the largest.
std::vector<float> Floats(int64_t n, uint32_t seed) {
  const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                              0x7fc00000, 0x7f800001, 0xffbfffff, 0x00000001,
                              0x807fffff, 0x007f8000, 0x3f808000, 0x3f818000,
                              0x7f7fffff, 0x7f7f8000, 0x7f7f7fff, 0x00800000};
  std::mt19937 rng(seed);
  std::vector<float> out(n);
  for (float& v : out) {
    const uint32_t bits = rng();
    v = std::bit_cast<float>(bits % 4 == 0 ? special[bits / 4 % 16]
                                           : static_cast<uint32_t>(rng()));
  }
  return out;
}

TEST(ConvertTest, FloatsRoundToBFloat16AsOneByOne) {
  for (int64_t n = 0; n < 200; ++n) {
    const std::vector<float> from = Floats(n + 3, n);
    for (int64_t first = 0; first < 3; ++first) {
      std::vector<bfloat16> to(n + 1, bfloat16::FromBits(0x1234));
      Convert(DType::kFloat32, from.data() + first, DType::kBFloat16, to.data(),
              n);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(to[i].bits(), bfloat16(from[first + i]).bits())
            << std::bit_cast<uint32_t>(from[first + i]);
      EXPECT_EQ(to[n].bits(), 0x1234);
    }
  }
}

TEST(ConvertTest, VectorsWithoutSpecialNumbersRoundToo) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<float> one(-1, 1);
  std::vector<float> from(1000);
  for (float& v : from) v = one(rng);
  std::vector<bfloat16> to(from.size());
  Convert(DType::kFloat32, from.data(), DType::kBFloat16, to.data(),
          static_cast<int64_t>(from.size()));
  for (size_t i = 0; i < from.size(); ++i)
    ASSERT_EQ(to[i].bits(), bfloat16(from[i]).bits()) << from[i];
}

}  // namespace
}  // namespace proa::inline v0::ops::cpu
