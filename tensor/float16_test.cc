#include "tensor/float16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/bfloat16.h"

namespace proa::inline v0 {
namespace {

// The value of 16 bits by the definition of the format.
double ByDefinition(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? NAN : sign * INFINITY;
  }
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits),
                           exponent - bias - mantissa_bits);
}

template <typename T>
struct Format;
template <>
struct Format<float16> {
  static constexpr int kExponent = 5, kMantissa = 10;
};
template <>
struct Format<bfloat16> {
  static constexpr int kExponent = 8, kMantissa = 7;
};

template <typename T>
class HalfTest : public ::testing::Test {
 protected:
  static double Define(uint16_t bits) {
    return ByDefinition(bits, Format<T>::kExponent, Format<T>::kMantissa);
  }
};
using Halves = ::testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, AllValuesConvertExactlyAndBack) {
  for (int bits = 0; bits < 65536; ++bits) {
    const TypeParam h = TypeParam::FromBits(bits);
    const float f = h;
    const double expected = this->Define(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(f)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(f))));
    } else {
      ASSERT_EQ(f, expected) << bits;
      ASSERT_EQ(std::signbit(f), bits >= 0x8000);
      ASSERT_EQ(TypeParam(f).bits(), bits);
    }
  }
}

// Between each two neighbours: below, at and above the middle.
TYPED_TEST(HalfTest, RoundsToNearestEven) {
  const int infinity = std::numeric_limits<TypeParam>::infinity().bits();
  for (int bits = 0; bits < infinity; ++bits) {
    const double low = this->Define(bits);
    const double step =
        low - (bits > 0 ? this->Define(bits - 1) : -this->Define(1));
    // The last finite value has no upper neighbour; there the step goes on.
    const double high =
        bits + 1 < infinity ? this->Define(bits + 1) : low + step;
    const double middle = low + (high - low) / 2;
    const int even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(TypeParam(middle).bits(), even) << bits;
    ASSERT_EQ(TypeParam(-middle).bits(), even | 0x8000) << bits;
    // Even the last bit of a double decides: no rounding twice.
    ASSERT_EQ(TypeParam(std::nextafter(middle, low)).bits(), bits);
    ASSERT_EQ(TypeParam(std::nextafter(middle, high * 2)).bits(), bits + 1);
    const float f = static_cast<float>(middle);
    if (static_cast<double>(f) == middle) {
      ASSERT_EQ(TypeParam(f).bits(), even);
    }
  }
}

TYPED_TEST(HalfTest, Integers) {
  EXPECT_EQ(TypeParam(3), 3.f);
  EXPECT_EQ(TypeParam(-128), -128.f);
  EXPECT_EQ(TypeParam(true), 1.f);
  // 2^62 + 2^53 + 1 for bfloat16: just above a middle, in a bit no double has.
  const int64_t middle = (int64_t{1} << 62) + (int64_t{1} << 54);
  if constexpr (std::is_same_v<TypeParam, bfloat16>) {
    EXPECT_EQ(TypeParam(middle).bits(), TypeParam(0x1p62f).bits());
    EXPECT_EQ(TypeParam(middle + 1).bits(), TypeParam(0x1p62f).bits() + 1);
    EXPECT_EQ(TypeParam(-middle - 1).bits(), TypeParam(-0x1p62f).bits() + 1);
    EXPECT_EQ(TypeParam(~uint64_t{0}), 0x1p64f);
  } else {
    EXPECT_TRUE(std::isinf(TypeParam(middle)));
    EXPECT_TRUE(std::isinf(TypeParam(std::numeric_limits<int64_t>::min())));
    EXPECT_EQ(TypeParam(65519), 65504.f);
    EXPECT_TRUE(std::isinf(TypeParam(65520)));
  }
}

TYPED_TEST(HalfTest, Arithmetic) {
  TypeParam x(1.5f);
  const TypeParam y(2.f);
  EXPECT_EQ(x + y, 3.5f);
  EXPECT_EQ(-x, -1.5f);
  x *= y;
  x -= 1.f;
  EXPECT_EQ(x, 2.f);
  EXPECT_TRUE(x == y);
  EXPECT_TRUE(TypeParam(-0.f) == TypeParam(0.f));
}

TYPED_TEST(HalfTest, Limits) {
  using L = std::numeric_limits<TypeParam>;
  constexpr int m = Format<TypeParam>::kMantissa;
  EXPECT_EQ(L::digits, m + 1);
  EXPECT_EQ(L::epsilon(), std::ldexp(1.f, -m));
  EXPECT_EQ(L::min(), std::ldexp(1.f, L::min_exponent - 1));
  EXPECT_EQ(L::max(),
            std::ldexp(2.f - std::ldexp(1.f, -m), L::max_exponent - 1));
  EXPECT_EQ(L::lowest(), -static_cast<float>(L::max()));
  EXPECT_EQ(L::denorm_min(), std::ldexp(1.0, L::min_exponent - 1 - m));
  EXPECT_TRUE(std::isinf(L::infinity()));
  EXPECT_TRUE(std::isnan(L::quiet_NaN()));
  EXPECT_EQ(L::round_error(), 0.5f);
}

TEST(Half, NanKeepsItsSign) {
  const float nan = std::bit_cast<float>(0xffc00000u);
  EXPECT_EQ(float16(nan).bits(), 0xfe00);
  EXPECT_EQ(bfloat16(nan).bits(), 0xffc0);
  // A payload only in the low bits must not become infinity.
  const float low = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(float16(low)));
  EXPECT_TRUE(std::isnan(bfloat16(low)));
}

TEST(Half, IsConstexpr) {
  static_assert(float16(1.5f).bits() == 0x3e00);
  static_assert(bfloat16(1.5).bits() == 0x3fc0);
  static_assert(static_cast<float>(float16::FromBits(1)) == 0x1p-24f);
}

}  // namespace
}  // namespace proa::inline v0
