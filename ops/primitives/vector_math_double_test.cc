// Functions of double beside those of long double.
#include "ops/primitives/vector_math_double.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace proa::inline v0::ops::vmath {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Distance of `got` from what is exact in units in the last place.
double UlpError(double got, long double exact) {
  const double rounded = static_cast<double>(exact);
  if (got == rounded) return 0;
  if (std::isinf(got) || std::isinf(rounded)) return kInf;
  int exponent;
  std::frexp(rounded, &exponent);
  return static_cast<double>(std::abs(got - exact)) /
         std::ldexp(1.0, std::max(exponent - 53, -1074));
}

TEST(VectorMathDouble, ExpOfAllSizes) {
  std::mt19937_64 random(1);
  double worst = 0, at = 0;
  const auto look = [&](double x) {
    const double error =
        UlpError(Exp(x), std::exp(static_cast<long double>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  };
  std::uniform_real_distribution<double> results(-746, 710), small(-1, 1);
  for (int i = 0; i < 1000000; ++i) {
    look(results(random));
    look(small(random));
    const double any = std::bit_cast<double>(random());  // of every exponent
    if (any == any) look(any);
  }
  // Where n changes.
  for (int n = -1076; n <= 1025; ++n) {
    for (int half = 0; half < 2; ++half) {
      const double x = (n + 0.5 * half) * 0.69314718055994530942;
      for (const double near :
           {x, std::nextafter(x, -kInf), std::nextafter(x, kInf)})
        look(near);
    }
  }
  EXPECT_LE(worst, 1) << "at " << std::hexfloat << at;
}

TEST(VectorMathDouble, ExpOfWhatIsSpecial) {
  EXPECT_EQ(Exp(0.0), 1);
  EXPECT_EQ(Exp(-0.0), 1);
  EXPECT_EQ(Exp(kInf), kInf);
  EXPECT_EQ(Exp(-kInf), 0);
  EXPECT_FALSE(std::signbit(Exp(-kInf)));
  EXPECT_EQ(Exp(1e300), kInf);
  EXPECT_EQ(Exp(-1e300), 0);
  EXPECT_EQ(Exp(710.0), kInf);
  EXPECT_EQ(Exp(-745.0), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(Exp(-746.0), 0);
  EXPECT_TRUE(std::isnan(Exp(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace proa::inline v0::ops::vmath
