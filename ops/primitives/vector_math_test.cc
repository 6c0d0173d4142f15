// The error bounds that vector_math.h and vector_trigonometry.h state, over a
// sample of all floats (every 509th bit pattern: all exponents, both signs,
// subnormals, infinities, NaN) against double arithmetic of the standard
// library, which is right to 1e-7 float ULP.
#include "ops/primitives/vector_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops/primitives/vector_trigonometry.h"

#include "gtest/gtest.h"

namespace proa::inline v0::ops::vmath {
namespace {

constexpr uint32_t kStep = 509;

// Distance of `got` from the exact result in units in the last place of float;
// infinite for a wrong special value or sign of zero.
double UlpError(float got, double exact) {
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact)) return std::isnan(got) ? 0 : wrong;
  const float rounded = static_cast<float>(exact);
  if (std::isinf(got) || std::isinf(rounded)) {
    // One of them beyond the largest float, the other beside it, is rounding.
    const float largest = std::numeric_limits<float>::max();
    if (got == rounded) return 0;
    return std::min(std::abs(got), std::abs(rounded)) == largest ? 1 : wrong;
  }
  if (got == 0 && rounded == 0) {
    return std::signbit(got) == std::signbit(rounded) ? 0 : wrong;
  }
  int exponent;
  std::frexp(exact, &exponent);
  return std::abs(got - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

template <class F, class G>
void ExpectWithin(double bound, F function, G exact, float limit = kInf) {
  double worst = 0;
  float at = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += kStep) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (limit != kInf && !(std::abs(x) <= limit)) continue;
    const double error = UlpError(function(x), exact(static_cast<double>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  EXPECT_LE(worst, bound) << "at " << std::hexfloat << at;
}

#define EXPECT_ULP(bound, Name, exact)        \
  ExpectWithin(                               \
      bound, [](float x) { return Name(x); }, \
      [](double x) -> double { return exact; })
#define EXPECT_ULP_REDUCIBLE(bound, Name, exact) \
  ExpectWithin(                                  \
      bound, [](float x) { return Name(x); },    \
      [](double x) -> double { return exact; }, kReducible)

TEST(VectorMath, Exponentials) {
  EXPECT_ULP(1.1, Exp, std::exp(x));
  EXPECT_ULP(2, Expm1, std::expm1(x));
  EXPECT_ULP(2.5, Sigmoid,
             x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)));
  EXPECT_ULP(1.1, ExpOfMinusAbs, std::exp(-std::abs(x)));
  EXPECT_ULP(2, Log1pExpOfMinusAbs, std::log1p(std::exp(-std::abs(x))));
}

TEST(VectorMath, TermsOfSums) {
  // Where it is at least 2^-126; below it is 0.
  ExpectWithin(
      2.5, [](float x) { return Abs(x) > 87 ? 0.f : ExpTerm(x); },
      [](double x) { return std::abs(x) > 87 ? 0 : std::exp(x); },
      std::numeric_limits<float>::max());
  EXPECT_EQ(ExpTerm(-100), 0);
  EXPECT_EQ(ExpTerm(-kInf), 0);
  EXPECT_EQ(ExpTerm(0), 1);
  EXPECT_TRUE(std::isnan(ExpTerm(kNan)));
  EXPECT_GT(ExpTerm(100), 1e37f);
  EXPECT_GT(ExpTerm(kInf), 1e37f);
}

TEST(VectorMath, Logarithms) {
  EXPECT_ULP(1, Log, std::log(x));
  EXPECT_ULP(2, Log2, std::log2(x));
  EXPECT_ULP(2, Log10, std::log10(x));
  EXPECT_ULP(1.5, Log1p, std::log1p(x));
  EXPECT_ULP(3, Logit,
             x > 0.2 && x < 0.8 ? std::log1p((2 * x - 1) / (1 - x))
                                : std::log(x / (1 - x)));
}

// `inner` gives the bits of `all` where the range says so, up to its ends.
template <class Range, class F, class G>
void ExpectSameInside(F inner, G all) {
  uint32_t inside = 0;
  const auto expect_same = [&](uint32_t bits) {
    const float x = std::bit_cast<float>(bits);
    if (Range::Number(x) >= Range::kEnd) return;
    ++inside;
    EXPECT_EQ(Bits(inner(x)), Bits(all(x))) << "at " << std::hexfloat << x;
  };
  uint32_t before = Range::Number(0);
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += kStep) {
    const uint32_t here = static_cast<uint32_t>(bits);
    const uint32_t number = Range::Number(std::bit_cast<float>(here));
    if ((number < Range::kEnd) != (before < Range::kEnd)) {
      for (uint32_t i = 0; i < kStep; ++i) expect_same(here - i);
    }
    before = number;
    expect_same(here);
  }
  EXPECT_GT(inside, 1000000u);
}

#define EXPECT_SAME_INSIDE(Range, Name)                          \
  ExpectSameInside<Range>([](float x) { return Name<true>(x); }, \
                          [](float x) { return Name(x); })

TEST(VectorMath, ShorterFormulas) {
  EXPECT_SAME_INSIDE(InnerExp, Exp);
  EXPECT_SAME_INSIDE(InnerLog, Log);
  EXPECT_SAME_INSIDE(InnerLog, Log2);
  EXPECT_SAME_INSIDE(InnerLog, Log10);
  EXPECT_SAME_INSIDE(InnerLogit, Logit);
}

TEST(VectorMath, Trigonometric) {
  EXPECT_ULP_REDUCIBLE(1.6, Sin, std::sin(x));
  EXPECT_ULP_REDUCIBLE(1.6, Cos, std::cos(x));
  EXPECT_ULP_REDUCIBLE(3.5, Tan, std::tan(x));
  EXPECT_ULP(2.5, Asin, std::asin(x));
  EXPECT_ULP(2.5, Acos, std::acos(x));
  EXPECT_ULP(2.5, Atan, std::atan(x));
}

TEST(VectorMath, AngleOfAPoint) {
  const float ends[] = {0.0f, -0.0f, 1,      -1,      3,    -3e38f, 3e38f,
                        kInf, -kInf, 1e-45f, -1e-45f, kNan, 1e-38f};
  for (const float y : ends) {
    for (const float x : ends) {
      const double exact = std::atan2(static_cast<double>(y), x);
      EXPECT_LE(UlpError(Atan2(y, x), exact), 2.5) << y << " " << x;
    }
  }
  for (const float x : {1.0f, -1.0f, 0.37f, -2.9f, 1e30f, -1e-30f}) {
    ExpectWithin(
        2.5, [x](float y) { return Atan2(y, x); },
        [x](double y) { return std::atan2(y, static_cast<double>(x)); });
  }
}

TEST(VectorMath, Hyperbolic) {
  EXPECT_ULP(3, Sinh, std::sinh(x));
  EXPECT_ULP(3, Cosh, std::cosh(x));
  EXPECT_ULP(2, Tanh, std::tanh(x));
  EXPECT_ULP(3, Asinh, std::asinh(x));
  EXPECT_ULP(3, Acosh, std::acosh(x));
  EXPECT_ULP(3, Atanh, std::atanh(x));
}

TEST(VectorMath, ErrorFunction) { EXPECT_ULP(1.5, Erf, std::erf(x)); }

TEST(VectorMath, EndsOfDistributions) {
  // Where the results are normal numbers.
  constexpr float kLast = 13.24f;
  const auto beyond = [](float x) { return NormalTailOf(x).beyond; };
  const auto exact = [](double x) {
    return 0.5 * std::erfc(std::abs(x) * 0x1.6a09e667f3bcdp-1);
  };
  ExpectWithin(4.5, beyond, exact, 1);
  ExpectWithin(7, beyond, exact, kLast);
  ExpectWithin(
      2.5, [](float x) { return NormalTailOf(x).bell; },
      [](double x) { return std::exp(-0.5 * x * x); }, kLast);
  ExpectWithin(
      1.5, [](float x) { return ExpDown(Abs(x)); },
      [](double x) { return std::exp(-std::abs(x)); }, 87.3f);
  EXPECT_EQ(ExpDown(kExpEnd), 0);
  for (const float x : {kNormalEnd, -14.0f, kInf, -kInf, kNan}) {
    EXPECT_EQ(NormalTailOf(x).a, kNormalEnd) << x;
    EXPECT_EQ(NormalTailOf(x).beyond, 0) << x;
    EXPECT_EQ(NormalTailOf(x).bell, 0) << x;
  }
}

TEST(VectorMath, ReducesArgumentsNearMultiplesOfPi) {
  // Of all floats below the limit these come closest to a multiple of pi / 2.
  for (const float x : {0x1.921fb6p0f, 0x1.921fb6p1f, 0x1.f6a7a2p7f,
                        0x1.46c6bap13f, 0x1.08029cp18f, 0x1p20f}) {
    EXPECT_LE(UlpError(Sin(x), std::sin(static_cast<double>(x))), 1.6) << x;
    EXPECT_LE(UlpError(Cos(x), std::cos(static_cast<double>(x))), 1.6) << x;
  }
}

}  // namespace
}  // namespace proa::inline v0::ops::vmath
