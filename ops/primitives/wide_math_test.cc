// Functions of wide_math.h against the standard library, and divisions that
// round down against fmod, over floats of all sizes and signs.
#include "ops/primitives/wide_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/primitives/arithmetic.h"
#include "ops/primitives/floor_division.h"
#include "ops/primitives/mended.h"

namespace proa::inline v0::ops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kEnds = {
    0.0f,  -0.0f,  1,        -1,       2,        -2,     3,       -3,
    0.5f,  -0.5f,  kInf,     -kInf,    kNan,     1e-45f, -1e-45f, 1e-38f,
    3e38f, -3e38f, 16777216, 16777218, -8388609, 2.5f,   1e20f,   -7};

// Pairs of floats: of any bits, of like sizes, whole numbers, and the ends.
std::vector<std::pair<float, float>> Pairs() {
  std::vector<std::pair<float, float>> out;
  for (const float a : kEnds) {
    for (const float b : kEnds) out.emplace_back(a, b);
  }
  uint64_t state = 88172645463325252u;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<uint32_t>(state >> 16);
  };
  for (int i = 0; i < 200000; ++i) {
    const uint32_t a = next(), b = next();
    out.emplace_back(std::bit_cast<float>(a), std::bit_cast<float>(b));
    out.emplace_back(static_cast<float>(static_cast<int32_t>(a)) * 0x1p-28f,
                     static_cast<float>(static_cast<int32_t>(b)) * 0x1p-29f);
    out.emplace_back(static_cast<float>(static_cast<int>(a % 2001) - 1000),
                     static_cast<float>(static_cast<int>(b % 21) - 10));
  }
  return out;
}

// Equal, of the same sign, or both NaN.
bool Same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

TEST(WideMath, Logarithm) {
  EXPECT_EQ(vmath::wide::Log(1), 0);
  for (uint32_t bits = 1; bits < 0x7f800000; bits += 5003) {
    const double x = std::bit_cast<float>(bits), y = std::log(x);
    EXPECT_LE(std::abs(vmath::wide::Log(x) - y), 1e-13 * std::abs(y)) << x;
  }
}

TEST(WideMath, PowersOfTwo) {
  for (double x = -1000; x <= 1000; x += 0.0837) {
    const double y = std::exp2(x);
    EXPECT_LE(std::abs(vmath::wide::Exp2(x) - y), 2e-12 * y) << x;
  }
}

TEST(WideMath, SineAndCosine) {
  constexpr double kPi = 3.14159265358979323846;
  for (double r = -0.5; r <= 0.5; r += 1.0 / 4096) {
    const double s = std::sin(kPi * r);
    EXPECT_LE(std::abs(vmath::wide::SinPi(r) - s), 1e-13 * std::abs(s)) << r;
    const double c = std::sin(kPi * (0.5 - std::abs(r)));
    EXPECT_LE(std::abs(vmath::wide::CosPi(r) - c), 1e-13 * std::abs(c)) << r;
  }
}

TEST(WideMath, PowerIsThatOfTheStandardRoundedOnce) {
  for (const auto& [a, b] : Pairs()) {
    const double exact =
        std::pow(static_cast<double>(a), static_cast<double>(b));
    const float got = vmath::wide::Pow(a, b), want = static_cast<float>(exact);
    if (a > 0 && a < kInf && std::abs(b) < kInf) {
      EXPECT_EQ(vmath::wide::PowOfPositive(a, b), got) << a << " " << b;
    }
    if (Same(got, want)) continue;
    // Two floats are near: the exact power lies between them.
    EXPECT_TRUE(Same(got, std::nextafter(want, got))) << a << " " << b;
    const double middle = (static_cast<double>(got) + want) / 2;
    EXPECT_LE(std::abs(exact - middle), 1e-4 * std::abs(got - want))
        << a << " to the power of " << b;
  }
}

TEST(FloorDivision, GivesWhatFmodGives) {
  std::vector<float> a, b;
  for (const auto& [x, y] : Pairs()) {
    a.push_back(x);
    b.push_back(y);
  }
  const int64_t n = static_cast<int64_t>(a.size());
  std::vector<float> rest(a.size()), quotient(a.size());
  RunMended<VectorRemainder>(rest.data(), n, a.data(), b.data());
  RunMended<VectorFloorDivide>(quotient.data(), n, a.data(), b.data());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(Same(rest[i], RemainderFloat(a[i], b[i])))
        << a[i] << " % " << b[i] << " is not " << rest[i];
    EXPECT_TRUE(Same(quotient[i], FloorDivideFloat(a[i], b[i])))
        << a[i] << " // " << b[i] << " is not " << quotient[i];
  }
  // Quotients for which steps in float have too few digits.
  EXPECT_EQ(FloorDivideFloat(75578920.0f, 7.0f), 10796988.0f);
  EXPECT_EQ(FloorDivideFloat(98392928.0f, 7.0f), 14056132.0f);
  // Above 2^24 it is the nearest float to the exact one.
  EXPECT_EQ(FloorDivideFloat(98095248.0f, 5.0f), 19619048.0f);
}

TEST(FloorDivision, InPlace) {
  std::vector<float> a(1000, -7.0f), b(1000, 2.0f);
  RunMended<VectorRemainder>(a.data(), 1000, a.data(), b.data());
  EXPECT_EQ(a, std::vector<float>(1000, 1.0f));
}

}  // namespace
}  // namespace proa::inline v0::ops
