#include "ops/special/scalar.h"

#include <math.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "unsupported/Eigen/SpecialFunctions"

namespace proa::inline v0::ops::special {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <int n>
double Horner(const double (&c)[n], double x) {
  double y = c[n - 1];
  for (int i = n - 2; i >= 0; --i) y = c[i] + x * y;
  return y;
}

// The only zero of digamma above 0, in two parts.
constexpr double kRoot = 1.4616321449683622, kRootRest = 9.549995429965697e-17;

// digamma(x) / (x - root) on [1, 2] as a polynomial in 2x - 3: Chebyshev
// interpolation, whose error is below 1e-18.
double DigammaNearRoot(double x) {
  static constexpr double kTerms[] = {
      0.95105587603183287931,    -0.21181371064073024641,
      0.060135621060196842546,   -0.018550615381739841313,
      0.005936795278301761245,   -0.0019350666647356520696,
      0.00063688803038658162146, -0.00021074841288961529853,
      6.9950188251128305076e-5,  -2.3258232466715407939e-5,
      7.7412345086346476781e-6,  -2.5781348947206902314e-6,
      8.5890607219807283021e-7,  -2.8620904107716700707e-7,
      9.5432982873416507154e-8,  -3.1812669664368346254e-8,
      1.0527692446286742431e-8,  -3.5032220530510346945e-9,
      1.2469984532671290417e-9,  -4.1977715585698358678e-10,
      8.7345287835025143975e-11, -2.7468193576757689132e-11,
      2.9186226676529247737e-11, -1.0015110081604000847e-11};
  return (x - kRoot - kRootRest) * Horner(kTerms, 2 * x - 3);
}

// x > 0.
double PositiveDigamma(double x) {
  if (x < 1) return DigammaNearRoot(x + 1) - 1 / x;
  if (x < 10) {
    double sum = 0;
    while (x > 2) {
      x -= 1;
      sum += 1 / x;
    }
    return DigammaNearRoot(x) + sum;
  }
  // Bernoulli numbers B_2k / 2k of the asymptotic series.
  static constexpr double kTerms[] = {1.0 / 12,   -1.0 / 120, 1.0 / 252,
                                      -1.0 / 240, 1.0 / 132,  -691.0 / 32760,
                                      1.0 / 12};
  const double r = 1 / x, r2 = r * r;
  return std::log(x) - 0.5 * r - r2 * Horner(kTerms, r2);
}

double Power(double base, int64_t n) {
  if (n > 64) return std::pow(base, static_cast<double>(n));
  double out = 1;
  for (; n > 0; n >>= 1, base *= base) {
    if (n & 1) out *= base;
  }
  return out;
}

// n! / x^(n+1) * factor, where n! or the power alone may overflow.
double TimesFactorialOverPower(double factor, int64_t n, double x) {
  if (n < 100) {
    const double power = Power(x, n + 1);
    if (power > 1e-290 && power < 1e290) {
      return std::tgamma(static_cast<double>(n) + 1) / power * factor;
    }
  }
  const double order = static_cast<double>(n);
  return std::exp(LogGamma(order + 1) - (order + 1) * std::log(x)) * factor;
}

// sum over k >= 0 of (q / (q + k))^s, q > 0, s >= 2: the first terms one by
// one, the others by the Euler-Maclaurin formula.
double ScaledZeta(int64_t s, double q) {
  // B_2j / (2j)!
  static constexpr double kTerms[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000,
                                      1.0 / 74724249600,
                                      -3617.0 / 10670622842880000,
                                      43867.0 / 5109094217170944000,
                                      -174611.0 / 802857662698291200000.0};
  const double order = static_cast<double>(s);
  const double enough = 12 + order;
  double sum = 0, a = q;
  for (; a < enough; a += 1) {
    const double term = Power(q / a, s);
    sum += term;
    if (term < 1e-18 * sum) return sum;
  }
  const double inverse = 1 / (a * a);
  double factor = order / a, tail = a / (order - 1) + 0.5;
  for (int j = 0; j < 10; ++j) {
    const double term = kTerms[j] * factor;
    tail += term;
    if (std::fabs(term) < 1e-18 * tail) break;
    factor *= (order + 2 * j + 1) * (order + 2 * j + 2) * inverse;
  }
  return sum + Power(q / a, s) * tail;
}

// x > 0, n >= 1.
double PositivePolygamma(int64_t n, double x) {
  const double value = TimesFactorialOverPower(ScaledZeta(n + 1, x), n, x);
  return n % 2 == 1 ? value : -value;
}

// pi times the derivative of order n of cot(pi x), n >= 1; x in (-1/2, 1/2),
// not 0.
double CotangentSlope(int64_t n, double x) {
  constexpr int kMost = 15;
  if (n > kMost) {
    // The sum of (-1)^n n! / (x + k)^(n+1) over all k, of which a few count.
    double sum = 0;
    const double size = std::fabs(x);
    for (int k = 1; k <= 10; ++k) {
      const double below = Power(size / (k - size), n + 1);
      sum += Power(size / (k + size), n + 1) + (n % 2 == 1 ? below : -below);
    }
    const double value = TimesFactorialOverPower(1 + sum, n, size);
    return (n % 2 == 1) || x < 0 ? -value : value;
  }
  // P_0(c) = c, P_(k+1)(c) = -(1 + c^2) P_k'(c), at c = cot(pi x).
  double p[kMost + 2] = {0, 1}, next[kMost + 2] = {};
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i <= k + 2; ++i) {
      next[i] = -((i + 1 <= k + 1 ? (i + 1) * p[i + 1] : 0) +
                  (i >= 1 ? (i - 1) * p[i - 1] : 0));
    }
    std::copy(next, next + k + 3, p);
  }
  const double c = 1 / std::tan(kPi * x);
  double value = p[n + 1];
  for (int64_t i = n; i >= 0; --i) value = p[i] + c * value;
  return value * Power(kPi, n + 1);
}

}  // namespace

double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);  // std::lgamma writes a global variable
}

double Digamma(double x) {
  if (x > 0) return PositiveDigamma(x);
  if (x == 0) return std::signbit(x) ? kInf : -kInf;
  const double rest = x - std::nearbyint(x);
  if (!(rest != 0) || std::isinf(x)) return kNaN;
  return PositiveDigamma(1 - x) - kPi / std::tan(kPi * rest);
}

double Polygamma(int64_t n, double x) {
  if (n == 0) return Digamma(x);
  if (std::isnan(x) || x == -kInf) return kNaN;
  if (x == kInf) return n % 2 == 1 ? 0.0 : -0.0;
  const double rest = x - std::nearbyint(x);
  if (x <= 0 && rest == 0) {
    if (n % 2 == 1) return kInf;
    return x < 0 ? kNaN : std::signbit(x) ? kInf : -kInf;
  }
  if (x > 0) return PositivePolygamma(n, x);
  const double slope = CotangentSlope(n, rest);
  if (std::isinf(slope)) return -slope;  // by far the larger of the two
  const double mirrored = PositivePolygamma(n, 1 - x);
  return (n % 2 == 1 ? -mirrored : mirrored) - slope;
}

// The approximation of M. Giles ("Approximating the erfinv function", 2011),
// near 1 the beginning of the asymptotic series, and then Halley's method.
double InverseErf(double x) {
  const double size = std::fabs(x), rest = 1 - size;
  if (!(size < 1)) return size == 1 ? x * kInf : kNaN;
  const double w = -std::log(rest * (1 + size));
  int steps = 1;
  double y;
  if (w < 5) {
    static constexpr double kTerms[] = {
        1.50140941,     0.246640727,   -0.00417768164,
        -0.00125372503, 0.00021858087, -4.39150654e-6,
        -3.5233877e-6,  3.43273939e-7, 2.81022636e-08};
    y = size * Horner(kTerms, w - 2.5);
  } else if (w < 14) {
    static constexpr double kTerms[] = {
        2.83297682,    1.00167406,     0.00943887047,
        -0.0076224613, 0.00573950773,  -0.00367342844,
        0.00134934322, 0.000100950558, -0.000200214257};
    y = size * Horner(kTerms, std::sqrt(w) - 3);
  } else {
    const double l = -std::log(rest * 1.7724538509055160273);
    y = std::sqrt(l - 0.5 * std::log(l));
    steps = 3;
  }
  for (int i = 0; i < steps; ++i) {
    // Above 1/2 by erfc: erf near 1 has too few digits.
    const double miss = size > 0.5 ? rest - std::erfc(y) : std::erf(y) - size;
    const double step = miss * (0.5 * 1.7724538509055160273) * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

double ScaledBesselI(int64_t order, double x) {
  if (order == 0) return std::isinf(x) ? 0 : Eigen::numext::bessel_i0e(x);
  if (order == 1) {
    return std::isinf(x) ? 0 : Eigen::numext::bessel_i1e(x);
  }
  if (std::isnan(x)) return x;
  if (x == 0 || std::isinf(x)) return 0;
  const double size = std::fabs(x);
  const double sign = x < 0 && order % 2 == 1 ? -1 : 1;
  const double n = static_cast<double>(order);
  if (size < 1e-3 * std::sqrt(n + 1)) {
    // (x/2)^n / n! (1 + (x/2)^2 / (n + 1) + ...)
    const double h = 0.25 * size * size;
    double first = 1;
    if (order < 200) {
      for (int64_t k = 1; k <= order; ++k) {
        first *= 0.5 * size / static_cast<double>(k);
      }
    } else {
      first = std::exp(n * std::log(0.5 * size) - LogGamma(n + 1));
    }
    return sign * std::exp(-size) * first *
           (1 +
            h / (n + 1) * (1 + h / (2 * (n + 2)) * (1 + h / (3 * (n + 3)))));
  }
  // Far out the orders differ by little, and the recurrence would be long.
  if (size > 1e4 + n * n) {
    double term = 1, sum = 1;
    for (int k = 1; k < 40; ++k) {
      const double odd = 2 * k - 1;
      term *= -(4 * n * n - odd * odd) / (8 * k * size);
      sum += term;
      if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
    }
    return sign * sum / std::sqrt(2 * kPi * size);
  }
  // Miller's method: the recurrence I_(k-1) = 2k/x I_k + I_(k+1), from an order
  // so high that where it began does not matter; I_0 gives the factor.
  const int64_t start =
      order + 20 +
      static_cast<int64_t>(std::sqrt(80 * (n + 1)) + 9 * std::sqrt(size));
  double above = 0, here = 1e-290, wanted = 0;
  for (int64_t k = start; k > 0; --k) {
    const double below = 2 * static_cast<double>(k) / size * here + above;
    above = here;
    here = below;
    if (k == order + 1) wanted = here;
    if (here > 1e250) {
      here *= 1e-250;
      above *= 1e-250;
      wanted *= 1e-250;
    }
  }
  return sign * wanted / here * Eigen::numext::bessel_i0e(size);
}

double BesselI(int64_t order, double x) {
  if (order == 0) return std::isinf(x) ? kInf : Eigen::numext::bessel_i0(x);
  if (order == 1) return std::isinf(x) ? x : Eigen::numext::bessel_i1(x);
  if (std::isinf(x)) return order % 2 == 1 ? x : kInf;
  const double scaled = ScaledBesselI(order, x);
  // In two steps, as exp alone overflows before the product does.
  const double half = std::exp(0.5 * std::fabs(x));
  return scaled == 0 ? scaled : scaled * half * half;
}

}  // namespace proa::inline v0::ops::special
