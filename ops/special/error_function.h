// Formulas of error_function.yaml: scalar.h says what they compute. float has a
// vector version, and double for most arguments.
#ifndef PROA_OPS_SPECIAL_ERROR_FUNCTION_H_
#define PROA_OPS_SPECIAL_ERROR_FUNCTION_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/primitives/host_device.h"
#include "ops/primitives/pieces.h"
#include "ops/primitives/vector_math.h"
#include "ops/primitives/vector_math_double.h"
#include "ops/special/scalar.h"

namespace proa::inline v0::ops::formula {

// erfinv(x) / x is smooth in w = -log(1 - x^2), and far out in sqrt(w), as M.
// Giles found ("Approximating the erfinv function", 2011); the polynomials are
// own fits of erfinv(x) / x - 1. At most 2.5 ULP.
PROA_HD float InverseErfOf(float x) {
  using vmath::Fma;
  const float a = vmath::Abs(x);
  const float w = -vmath::Log<true>((1 - a) * (1 + a));
  const bool far = w > 5;
  const float w2 = w * w;
  float p = Fma(-0x1.2e0f8ep-27f, w, 0x1.daaa2ep-23f);
  p = Fma(w2, p, Fma(-0x1.094784p-19f, w, 0x1.0b51a6p-18f));
  p = Fma(w2, p, Fma(0x1.75d64p-15f, w, -0x1.0b58d2p-13f));
  p = Fma(w2, p, Fma(-0x1.31f602p-9f, w, 0x1.7a6d22p-7f));
  p = Fma(w2, p, Fma(0x1.db2a1p-3f, w, -0x1.d203b8p-4f));
  const float v = std::sqrt(far ? w : 5.0f) - 3, v2 = v * v;
  float q = Fma(v2, -0x1.94c63ep-13f, Fma(0x1.a38d14p-14f, v, 0x1.5f0deep-10f));
  q = Fma(v2, q, Fma(-0x1.e1785cp-9f, v, 0x1.786ef8p-8f));
  q = Fma(v2, q, Fma(-0x1.f3866ep-8f, v, 0x1.35463p-7f));
  q = Fma(v2, q, Fma(0x1.006db6p0f, v, 0x1.d53df8p0f));
  const float inside = vmath::CopySign(Fma(a, far ? q : p, a), x);
  const float outside = a == 1 ? x * vmath::kInf : vmath::kNan;
  return a < 1 ? inside : outside;
}

// Near 0, far from the ends. At most 2 ULP.
struct InnerInverseErf {
  static constexpr uint64_t kEnd = std::bit_cast<uint64_t>(0.9966);  // w < 5
  PROA_HD static uint64_t Number(double x) {
    return vmath::Bits(vmath::Abs(x));
  }
  PROA_HD static double Of(double x) {
    const double a = vmath::Abs(x);
    const double w = -vmath::Log<true>((1.0 - a) * (1.0 + a)), w2 = w * w;
    const double even = vmath::Horner(
        w2, -0x1.d203b725884a9p-4, 0x1.7a72e72c2fdf1p-7, -0x1.0c86b6edadbeap-13,
        0x1.0f2261648a849p-19, -0x1.3d82a09a8fe78p-25, 0x1.20cdafd7a06f5p-30,
        0x1.5a6c52926b870p-34, 0x1.8fe81f727e7f1p-37, 0x1.a7b11385a53c1p-42,
        0x1.b65c88f5c9819p-51, -0x1.c1d2e83355938p-58);
    const double odd = vmath::Horner(
        w2, 0x1.db29fb2fee55cp-3, -0x1.321102615fd6cp-9, 0x1.870136a2cfa12p-15,
        -0x1.0fde2994eac06p-20, 0x1.816fe97b2b828p-26, -0x1.88b684f5759dep-31,
        -0x1.b13b248f40a84p-36, -0x1.82406c14969d2p-39, -0x1.0338e5ad6c1ebp-45,
        0x1.1f5a449858d17p-54, 0x1.84548f2d62959p-63);
    const double y = vmath::MultiplyAdd(a, vmath::MultiplyAdd(w, odd, even), a);
    return vmath::CopySign(y, x);
  }
};

struct Erfinv {
  static constexpr float kCost = 12;
  template <class T>
  static T Apply(T x) {
    return static_cast<T>(special::InverseErf(x));
  }
  static void Block(const double* x, double* out, int64_t n) {
    MapMost<InnerInverseErf, Erfinv>(x, out, n);
  }
  PROA_HD static void Block(const float* x, float* out, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = InverseErfOf(x[i]);
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_SPECIAL_ERROR_FUNCTION_H_
