// Formulas of gamma.yaml: scalar.h says what they compute. float has vector
// versions (gamma_float.h) but for derivatives of higher order, double
// for most arguments of lgamma and trigamma (gamma_double.h).
#ifndef PROA_OPS_SPECIAL_GAMMA_H_
#define PROA_OPS_SPECIAL_GAMMA_H_

#include <cstdint>

#include "ops/primitives/host_device.h"
#include "ops/primitives/mended.h"
#include "ops/primitives/pieces.h"
#include "ops/special/gamma_double.h"
#include "ops/special/gamma_float.h"
#include "ops/special/scalar.h"

namespace proa::inline v0::ops::formula {

// A Function has Positive, for arguments that are not negative, Any, which is
// not exact enough near results of 0 below 0, and Exact.
template <class Function>
struct MendedGamma {
  PROA_HD static float Fast(float x) {
    return static_cast<float>(Function::Any(x));
  }
  PROA_HD static bool IsHard(float x, float y) {
    return (x < 0) & (vmath::Abs(y) < 0x1p-6f);
  }
  static float Exact(float x) { return static_cast<float>(Function::Exact(x)); }
};

template <class Function>
PROA_HD void GammaLoop(const float* x, float* out, int64_t n) {
  constexpr int64_t kPiece = 256;
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t m = n - begin < kPiece ? n - begin : kPiece;
    int32_t below = 0;  // zeros as well, which may be -0
    for (int64_t i = begin; i < begin + m; ++i) below |= x[i] <= 0 ? 1 : 0;
    if (below != 0) {
      RunMended<MendedGamma<Function>>(out + begin, m, x + begin);
      continue;
    }
#pragma GCC ivdep
    for (int64_t i = begin; i < begin + m; ++i) {
      out[i] = static_cast<float>(Function::Positive(x[i]));
    }
  }
}

struct Lgamma {
  static constexpr float kCost = 40;
  template <class T>
  static T Apply(T x) {
    return static_cast<T>(special::LogGamma(x));
  }
  PROA_HD static void Block(const double* x, double* out, int64_t n) {
    if constexpr (vmath::kHasFma) {
      MapMost<special::InnerLogGamma, Lgamma>(x, out, n);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = Apply(x[i]);
    }
  }
  PROA_HD static void Block(const float* x, float* out, int64_t n) {
    GammaLoop<Lgamma>(x, out, n);
  }

  static double Exact(double x) { return special::LogGamma(x); }
  PROA_HD static double Positive(double x) {
    return special::LogGammaPositive(x);
  }
  PROA_HD static double Any(double x) { return special::LogGammaAny(x); }
};

struct Digamma {
  static constexpr float kCost = 40;
  template <class T>
  static T Apply(T x) {
    return static_cast<T>(special::Digamma(x));
  }
  PROA_HD static void Block(const float* x, float* out, int64_t n) {
    GammaLoop<Digamma>(x, out, n);
  }

  static double Exact(double x) { return special::Digamma(x); }
  PROA_HD static double Positive(double x) {
    return special::DigammaPositive(x);
  }
  PROA_HD static double Any(double x) { return special::DigammaAny(x); }
};

struct Polygamma {
  static constexpr float kCost = 120;
  int64_t n;
  template <class T>
  T Apply(T x) const {
    return static_cast<T>(special::Polygamma(n, x));
  }
  PROA_HD void Block(const double* x, double* out, int64_t count) const {
    if (n == 1) {
      MapMost<special::InnerTrigamma, Trigamma>(x, out, count);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = Apply(x[i]);
    }
  }
  PROA_HD void Block(const float* x, float* out, int64_t count) const {
    if (n == 0) {
      Digamma::Block(x, out, count);
    } else if (n == 1) {
      GammaLoop<Trigamma>(x, out, count);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = Apply(x[i]);
    }
  }

 private:
  struct Trigamma {
    static double Apply(double x) { return special::Polygamma(1, x); }
    static double Exact(double x) { return Apply(x); }
    PROA_HD static double Positive(double x) {
      return special::TrigammaPositive(x);
    }
    PROA_HD static double Any(double x) { return special::TrigammaAny(x); }
  };
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_SPECIAL_GAMMA_H_
