// The error bounds that vector_math_double.h and vector_trigonometry_double.h
// state, over samples of doubles of all exponents, and of those where the
// functions have most of their digits to lose, beside long double.
#include "ops/primitives/vector_math_double.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "ops/primitives/pieces.h"
#include "ops/primitives/vector_trigonometry_double.h"

#include "gtest/gtest.h"

namespace proa::inline v0::ops::vmath {
namespace {

constexpr double kPi = 3.14159265358979323846;
// Without Fma bounds are up to half a unit wider.
constexpr double kWithoutFma = kHasFma ? 0 : 0.5;

// Distance of `got` from what is exact in units in the last place; infinite for
// a wrong special value or sign of zero.
double UlpError(double got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : kInfDouble;
  const double rounded = static_cast<double>(exact);
  if (std::isinf(got) || std::isinf(rounded) || std::isnan(got)) {
    return got == rounded ? 0 : kInfDouble;
  }
  if (got == 0 && rounded == 0) {
    return std::signbit(got) == std::signbit(rounded) ? 0 : kInfDouble;
  }
  int exponent;
  std::frexp(rounded, &exponent);
  return static_cast<double>(std::abs(got - exact)) /
         std::ldexp(1.0, std::max(exponent - 53, -1074));
}

// Of every exponent; `count` each from -1 to 1, from -4 to 4 and -800 to 800;
// what is special, and neighbours of multiples of `step`.
std::vector<double> Arguments(double step) {
  constexpr int kCount = 200000;
  std::mt19937_64 random(1);
  std::vector<double> x = {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0.5,
                           -0.5,
                           kInfDouble,
                           -kInfDouble,
                           kNanDouble,
                           std::numeric_limits<double>::max(),
                           std::numeric_limits<double>::lowest(),
                           std::numeric_limits<double>::min(),
                           std::numeric_limits<double>::denorm_min(),
                           -std::numeric_limits<double>::denorm_min()};
  for (const double end : {1.0, 4.0, 800.0}) {
    std::uniform_real_distribution<double> numbers(-end, end);
    for (int i = 0; i < kCount; ++i) x.push_back(numbers(random));
  }
  for (int i = 0; i < kCount; ++i) {
    x.push_back(std::bit_cast<double>(random()));
  }
  for (int n = -3000; n <= 3000; ++n) {
    const double y = n * step;
    x.insert(x.end(), {y, std::nextafter(y, -kInfDouble),
                       std::nextafter(y, kInfDouble)});
  }
  return x;
}

template <class F, class G>
void ExpectWithin(double bound, F function, G exact, double step,
                  double limit = kInfDouble) {
  double worst = 0, at = 0;
  for (const double x : Arguments(step)) {
    if (limit != kInfDouble && !(std::abs(x) <= limit)) continue;
    const double error = UlpError(function(x), exact(x));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  EXPECT_LE(worst, bound + kWithoutFma) << "at " << std::hexfloat << at;
}

#define EXPECT_ULP(bound, Name, exact)         \
  ExpectWithin(                                \
      bound, [](double x) { return Name(x); }, \
      [](long double x) -> long double { return exact; }, 0.25)
#define EXPECT_ULP_REDUCIBLE(bound, Name, exact)                      \
  ExpectWithin(                                                       \
      bound, [](double x) { return Name(x); },                        \
      [](long double x) -> long double { return exact; }, 0.25 * kPi, \
      kReducibleDouble)

TEST(VectorMathDouble, Exponentials) {
  EXPECT_ULP(1, Exp, std::exp(x));
  EXPECT_ULP(1, Expm1, std::expm1(x));
  // Where n changes.
  ExpectWithin(
      1, [](double x) { return Exp(x); },
      [](long double x) { return std::exp(x); }, 0.34657359027997265471);
  ExpectWithin(
      1, [](double x) { return Expm1(x); },
      [](long double x) { return std::expm1(x); }, 0.34657359027997265471);
}

TEST(VectorMathDouble, Logarithms) {
  EXPECT_ULP(1, Log, std::log(x));
  EXPECT_ULP(1, Log2, std::log2(x));
  EXPECT_ULP(1, Log10, std::log10(x));
  EXPECT_ULP(1, Log1p, std::log1p(x));
  EXPECT_ULP(3, Logit,
             std::abs(x - 0.5L) < 0.25L ? 2 * std::atanh(2 * x - 1)
                                        : std::log(x) - std::log1p(-x));
  EXPECT_ULP(2, Log1pExpOfMinusAbs, std::log1p(std::exp(-std::abs(x))));
}

TEST(VectorMathDouble, Hyperbolic) {
  EXPECT_ULP(2, Tanh, std::tanh(x));
  EXPECT_ULP(2, Sinh, std::sinh(x));
  EXPECT_ULP(2, Cosh, std::cosh(x));
  EXPECT_ULP(2, Asinh, std::asinh(x));
  EXPECT_ULP(2, Acosh, std::acosh(x));
  EXPECT_ULP(2, Atanh, std::atanh(x));
}

TEST(VectorMathDouble, Trigonometric) {
  EXPECT_ULP_REDUCIBLE(1, Sin, std::sin(x));
  EXPECT_ULP_REDUCIBLE(1, Cos, std::cos(x));
  EXPECT_ULP_REDUCIBLE(1, Tan, std::tan(x));
  EXPECT_ULP(1, Asin, std::asin(x));
  EXPECT_ULP(1, Acos, std::acos(x));
  EXPECT_ULP(1, Atan, std::atan(x));
}

TEST(VectorMathDouble, AnglesOfPoints) {
  std::vector<double> of = {0.0,    -0.0,    1.0,        -1.0,
                            3.0,    1e-310,  5e-324,     1e-200,
                            -1e200, 1.7e308, kInfDouble, -kInfDouble};
  for (double x = 0.001; x < 1000; x *= 1.0173) {
    of.push_back(x);
    of.push_back(-x * 1.0007);
  }
  double worst = 0;
  for (const double y : of) {
    for (const double x : of) {
      const long double exact =
          std::atan2(static_cast<long double>(y), static_cast<long double>(x));
      const double got = Atan2(y, x);
      EXPECT_EQ(std::signbit(got), std::signbit(exact)) << y << " " << x;
      if (exact == 0 || std::abs(exact) < 1e-300L)
        EXPECT_NEAR(got, static_cast<double>(exact), 1e-323) << y << " " << x;
      else
        worst = std::max(worst, UlpError(got, exact));
    }
  }
  EXPECT_LE(worst, 1.5);
  EXPECT_NE(Atan2(kNanDouble, 1.0), Atan2(kNanDouble, 1.0));
  EXPECT_NE(Atan2(1.0, kNanDouble), Atan2(1.0, kNanDouble));
}

// Near large multiples of pi / 2 most digits cancel.
TEST(VectorMathDouble, ReducesArgumentsNearMultiplesOfPi) {
  double worst = 0;
  for (int n = 1; n < 600000; n += 7) {
    const double at = n * (0.5L * 3.14159265358979323846264338L);
    for (const double x : {at, -at, std::nextafter(at, 0)}) {
      const long double y = x;
      worst = std::max({worst, UlpError(Sin(x), std::sin(y)),
                        UlpError(Cos(x), std::cos(y)),
                        UlpError(Tan(x), std::tan(y))});
    }
  }
  EXPECT_LE(worst, 1 + kWithoutFma);
}

TEST(VectorMathDouble, ErrorFunction) { EXPECT_ULP(1, Erf, std::erf(x)); }

TEST(VectorMathDouble, EndsOfDistributions) {
  const auto bell = [](double x) { return NormalTailOf(x).bell; };
  const auto beyond = [](double x) { return NormalTailOf(x).beyond; };
  ExpectWithin(
      2, bell, [](long double x) { return std::exp(-0.5L * x * x); }, 0.25, 38);
  ExpectWithin(
      8, beyond,
      [](long double x) {
        return 0.5L *
               std::erfc(std::abs(x) * 0.707106781186547524400844362104849L);
      },
      0.25, 37.5);
  for (const double x : {39.0, 50.0, -1e300, kInfDouble}) {
    EXPECT_EQ(bell(x), 0);
    EXPECT_EQ(beyond(x), 0);
  }
}

template <class Inner, class F, class G>
void ExpectSameInside(F inner, G all) {
  for (const double x : Arguments(0.25)) {
    if (Inner::Number(x) >= Inner::kEnd) continue;
    EXPECT_EQ(Bits(inner(x)), Bits(all(x))) << std::hexfloat << x;
  }
}
#define EXPECT_SAME_INSIDE(Range, Name)                                     \
  ExpectSameInside<Range>([](double x) { return Name</*inner=*/true>(x); }, \
                          [](double x) { return Name(x); })

TEST(VectorMathDouble, ShorterFormulas) {
  EXPECT_SAME_INSIDE(InnerExpDouble, Exp);
  EXPECT_SAME_INSIDE(InnerLogDouble, Log);
  EXPECT_SAME_INSIDE(InnerLogDouble, Log2);
  EXPECT_SAME_INSIDE(InnerLogDouble, Log10);
}

struct SinOf : InnerSinDouble {
  static double Of(double x) { return Sin(x); }
};
struct SinOfLibrary {
  static double Apply(double x) { return std::sin(x); }
};

TEST(VectorMathDouble, RareArgumentsLeaveTheirNeighboursAlone) {
  std::vector<double> x(1000), alone(1000);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i) * 0.01;
    alone[i] = Sin(x[i]);
  }
  x[3] = 1e300;
  x[700] = kInfDouble;
  x[999] = -0x1.8p20;
  std::vector<double> got(1000);
  MapMost<SinOf, SinOfLibrary>(x.data(), got.data(), 1000);
  for (size_t i = 0; i < x.size(); ++i) {
    if (i != 3 && i != 700 && i != 999) {
      EXPECT_EQ(got[i], alone[i]) << i;
    }
  }
  EXPECT_EQ(got[3], std::sin(1e300));
  EXPECT_TRUE(std::isnan(got[700]));
  EXPECT_EQ(got[999], std::sin(-0x1.8p20));
  MapMost<SinOf, SinOfLibrary>(x.data(), x.data(), 1000);  // in place
  got[700] = x[700] = 0;
  EXPECT_EQ(got, x);
}

}  // namespace
}  // namespace proa::inline v0::ops::vmath
