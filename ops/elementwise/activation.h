// Scalar formulas of activation.yaml. Attributes are members in the order of
// the schema.
#ifndef PROA_OPS_ELEMENTWISE_ACTIVATION_H_
#define PROA_OPS_ELEMENTWISE_ACTIVATION_H_

#include <cmath>
#include <type_traits>

#include "ops/elementwise/exponential.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"
#include "ops/primitives/vector_math_double.h"

namespace proa::inline v0::ops::formula {

// Rectifiers
// --------------------------------------------------------------------

// max(x, 0); NaN stays.
struct Relu {
  template <class T>
  PROA_HD static T Apply(T x) {
    return x < 0 ? T(0) : x;
  }
};

// grad where out > 0, else 0: the gradient of relu from its result.
struct ReluBackward {
  template <class T>
  PROA_HD static T Apply(T grad, T out) {
    return out > 0 ? grad : T(0);
  }
};

struct Relu6 {
  template <class T>
  PROA_HD static T Apply(T x) {
    const T low = x < 0 ? T(0) : x;
    return low > 6 ? T(6) : low;
  }
};

struct LeakyRelu {
  double negative_slope;
  template <class T>
  PROA_HD T Apply(T x) const {
    return x < 0 ? x * static_cast<T>(negative_slope) : x;
  }
};

struct LeakyReluBackward {
  double negative_slope;
  template <class T>
  PROA_HD T Apply(T grad, T x) const {
    return x > 0 ? grad : grad * static_cast<T>(negative_slope);
  }
};

struct ThresholdedRelu {
  double threshold;
  template <class T>
  PROA_HD T Apply(T x) const {
    return x <= static_cast<T>(threshold) ? T(0) : x;
  }
};

// Exponential units
// -------------------------------------------------------------

struct Elu {
  static constexpr float kCost = 5;
  double alpha;
  template <class T>
  PROA_HD T Apply(T x) const {
    const T below = static_cast<T>(alpha) * Expm1::Apply(x);
    return x > 0 ? x : below;
  }
};

struct Selu {
  static constexpr float kCost = 5;
  double scale, alpha;
  template <class T>
  PROA_HD T Apply(T x) const {
    const T below = static_cast<T>(scale * alpha) * Expm1::Apply(x);
    return x > 0 ? static_cast<T>(scale) * x : below;
  }
};

struct Celu {
  static constexpr float kCost = 5;
  double alpha;
  template <class T>
  PROA_HD T Apply(T x) const {
    const T a = static_cast<T>(alpha);
    const T below = a * Expm1::Apply(x / a);
    return x > 0 ? x : below;
  }
};

// Smooth units
// ------------------------------------------------------------------

// log(1 + e^x) without overflow.
template <class T>
PROA_HD T SoftplusOf(T x) {
  const T positive = x < 0 ? T(0) : x;
  return positive + vmath::Log1pExpOfMinusAbs(x);
}

struct Softplus {
  static constexpr float kCost = 8;
  double beta, threshold;
  template <class T>
  PROA_HD T Apply(T x) const {
    const T z = x * static_cast<T>(beta);
    const T soft = SoftplusOf(z) / static_cast<T>(beta);
    return z > static_cast<T>(threshold) ? x : soft;
  }
};

struct Logsigmoid {
  static constexpr float kCost = 8;
  template <class T>
  PROA_HD static T Apply(T x) {
    return -SoftplusOf(-x);
  }
};

struct Silu {
  static constexpr float kCost = 6;
  template <class T>
  PROA_HD static T Apply(T x) {
    // Not x / (1 + e^-x): e^-x overflows where the product is still a number.
    const T y = x * Sigmoid::Apply(x);
    return x < T(-1e30) ? T(0) : y;
  }
};

// grad * s (1 + x (1 - s)) with s = sigmoid(x).
struct SiluBackward {
  static constexpr float kCost = 8;
  template <class T>
  PROA_HD static T Apply(T grad, T x) {
    const T s = Sigmoid::Apply(x);
    return grad * (s * (1 + x * (1 - s)));
  }
};

struct Mish {
  static constexpr float kCost = 16;
  template <class T>
  PROA_HD static T Apply(T x) {
    // tanh(log(1 + e^x)) = n / (n + 2) with n = e^x (e^x + 2); 1 from 20 on.
    const T e = Exp::Apply(x > 20 ? T(20) : x);
    const T n = e * (e + 2);
    const T y = x * (n / (n + 2));
    const T small = n == 0 ? T(0) : y;
    return x > 20 ? x : small;
  }
};

// gelu is x F(x), with F the normal distribution, or the logistic one of
// 2 sqrt(2 / pi) (x + 0.044715 x^3), which is the form with tanh. Both are
// symmetric: what is computed is the part of them beyond |x|, which keeps its
// digits where x is negative and F(x) small.
template <class T>
struct GeluTail {
  T a;        // |x|, or where the rest is 0 already: infinity times 0 is NaN
  T beyond;   // 1 - F(|x|)
  T density;  // F'(x)

  PROA_HD static GeluTail Normal(T x) {
    constexpr T kNorm = T(0.3989422804014327);
    const auto tail = vmath::NormalTailOf(x);
    return {tail.a, tail.beyond, kNorm * tail.bell};
  }
  PROA_HD static GeluTail Logistic(T x) {
    constexpr T kSlope = T(1.5957691216057308);
    const T a = AbsBelowEnd(x);
    const T u = kSlope * a * (1 + T(0.044715) * a * a);
    T e;
    if constexpr (std::is_same_v<T, float>) {
      e = vmath::ExpDown(vmath::AbsUpTo(u, vmath::kExpEnd));
    } else {
      e = vmath::Exp(-u);
    }
    const T beyond = e / (1 + e);
    const T du = kSlope * (1 + T(3 * 0.044715) * a * a);
    return {a, beyond, du * beyond / (1 + e)};
  }

 private:
  // Of NaN: NaN or any other number.
  PROA_HD static T AbsBelowEnd(T x) {
    constexpr T kEnd = T(64);
    if constexpr (std::is_same_v<T, float>) {
      return vmath::AbsUpTo(x, kEnd);
    } else {
      const T a = std::abs(x);
      return a > kEnd ? kEnd : a;
    }
  }
};

struct Gelu {
  static constexpr float kCost = 8;
  bool approximate;

  template <class T>
  PROA_HD static T Exact(T x) {
    return Join(x, GeluTail<T>::Normal(x));
  }
  template <class T>
  PROA_HD static T WithTanh(T x) {
    return Join(x, GeluTail<T>::Logistic(x));
  }
  template <class T>
  PROA_HD T Apply(T x) const {
    return approximate ? WithTanh(x) : Exact(x);
  }
  // The choice is made outside of the loop, which would not vectorize with it.
  template <class T>
  PROA_HD void Block(const T* x, T* out, int64_t n) const {
    if (approximate) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = WithTanh(x[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = Exact(x[i]);
    }
  }

 private:
  template <class T>
  PROA_HD static T Join(T x, GeluTail<T> tail) {
    const T positive = x < 0 ? T(0) : x;
    if constexpr (std::is_same_v<T, float>) {
      return vmath::Fma(-tail.a, tail.beyond, positive);
    }
    return positive - tail.a * tail.beyond;
  }
};

struct GeluBackward {
  static constexpr float kCost = 9;
  bool approximate;

  template <class T>
  PROA_HD static T Exact(T grad, T x) {
    return Join(grad, x, GeluTail<T>::Normal(x));
  }
  template <class T>
  PROA_HD static T WithTanh(T grad, T x) {
    return Join(grad, x, GeluTail<T>::Logistic(x));
  }
  template <class T>
  PROA_HD T Apply(T grad, T x) const {
    return approximate ? WithTanh(grad, x) : Exact(grad, x);
  }
  template <class T>
  PROA_HD void Block(const T* grad, const T* x, T* out, int64_t n) const {
    if (approximate) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = WithTanh(grad[i], x[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = Exact(grad[i], x[i]);
    }
  }

 private:
  // The derivative of x F(x) at -|x|, or 1 less it.
  template <class T>
  PROA_HD static T Join(T grad, T x, GeluTail<T> tail) {
    const T left = tail.beyond - tail.a * tail.density;
    const T slope = x < 0 ? left : 1 - left;
    return grad * (x != x ? x : slope);
  }
};

struct Softsign {
  template <class T>
  PROA_HD static T Apply(T x) {
    return x / (1 + std::abs(x));
  }
};

// x - tanh(x). Up to 1.2, where most digits of that would cancel, it is x^3 and
// a polynomial of x^2, an own fit as those of vector_math.h.
struct Tanhshrink {
  static constexpr float kCost = 12;
  template <class T>
  PROA_HD static T Apply(T x) {
    const T square = x * x;
    return square < T(1.44) ? Near(x, square) : Far(x);
  }

 private:
  PROA_HD static float Near(float x, float s) {
    float p = 0x1.c26626p-16f;
    p = vmath::Fma(p, s, -0x1.f7aa94p-13f);
    p = vmath::Fma(p, s, 0x1.166b7cp-10f);
    p = vmath::Fma(p, s, -0x1.b11050p-9f);
    p = vmath::Fma(p, s, 0x1.1e222cp-7f);
    p = vmath::Fma(p, s, -0x1.65bddap-6f);
    p = vmath::Fma(p, s, 0x1.ba11c8p-5f);
    p = vmath::Fma(p, s, -0x1.1110f0p-3f);
    p = vmath::Fma(p, s, 0x1.555556p-2f);
    return x * s * p;
  }
  PROA_HD static float Far(float x) { return x - vmath::Tanh(x); }
  // x - 1 + (1 - tanh(x)), of which the latter is small.
  PROA_HD static double Far(double x) {
    const double a = vmath::Abs(x), b = a < 20.0 ? a : 20.0;
    const double rest = 2.0 / (vmath::Exp<true>(b + b) + 1.0);
    return vmath::CopySign((a - 1.0) + rest, x);
  }
  PROA_HD static double Near(double x, double s) {
    const double w = s * s;
    const double even = vmath::Horner(
        w, 0x1.5555555555555p-2, 0x1.ba1ba1ba12c8ap-5, 0x1.226e351d18df5p-7,
        0x1.7da2e55d975f5p-10, 0x1.f542306ec3383p-13, 0x1.4527b228164abp-15,
        0x1.76e99fc5c5e4ep-18, 0x1.0bd1fd6029fa6p-21, 0x1.d6d679489395fp-27);
    const double odd = vmath::Horner(
        w, -0x1.1111111111098p-3, -0x1.664f4880b06b9p-6, -0x1.d6d3c70348a7dp-9,
        -0x1.3553a7de9e3c9p-11, -0x1.95589790aaa93p-14, -0x1.fcc6076750a9fp-17,
        -0x1.ec757b5c31f0fp-20, -0x1.b6ecf8d556100p-24, -0x1.e848e7596e841p-31);
    return x * s * vmath::MultiplyAdd(s, odd, even);
  }
};

struct Stanh {
  static constexpr float kCost = 8;
  double scale_a, scale_b;
  template <class T>
  PROA_HD T Apply(T x) const {
    return static_cast<T>(scale_b) * Tanh::Apply(static_cast<T>(scale_a) * x);
  }
};

// Piecewise linear units
// --------------------------------------------------------

struct Hardsigmoid {
  double slope, offset;
  template <class T>
  PROA_HD T Apply(T x) const {
    const T y = static_cast<T>(slope) * x + static_cast<T>(offset);
    const T low = y < 0 ? T(0) : y;
    return low > 1 ? T(1) : low;
  }
};

struct Hardswish {
  template <class T>
  PROA_HD static T Apply(T x) {
    const T y = x * (x + 3) / 6;
    const T low = x <= -3 ? T(0) : y;
    return x >= 3 ? x : low;
  }
};

struct Hardtanh {
  double min, max;
  template <class T>
  PROA_HD T Apply(T x) const {
    const T low = x < static_cast<T>(min) ? static_cast<T>(min) : x;
    return low > static_cast<T>(max) ? static_cast<T>(max) : low;
  }
};

struct Hardshrink {
  double threshold;
  template <class T>
  PROA_HD T Apply(T x) const {
    return std::abs(x) <= static_cast<T>(threshold) ? T(0) : x;
  }
};

struct Softshrink {
  double threshold;
  template <class T>
  PROA_HD T Apply(T x) const {
    const T t = static_cast<T>(threshold);
    const T y = x > t ? x - t : x + t;
    return std::abs(x) <= t ? T(0) : y;
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_ACTIVATION_H_
