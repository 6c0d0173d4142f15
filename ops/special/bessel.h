// Formulas of bessel.yaml: scalar.h says what they compute. float has vector
// versions of the orders 0 and 1, and double (bessel_double.h).
#ifndef PROA_OPS_SPECIAL_BESSEL_H_
#define PROA_OPS_SPECIAL_BESSEL_H_

#include <cmath>
#include <cstdint>

#include "ops/primitives/host_device.h"
#include "ops/primitives/pieces.h"
#include "ops/primitives/vector_math.h"
#include "ops/special/bessel_double.h"
#include "ops/special/scalar.h"

namespace proa::inline v0::ops::formula {

// I_0(a) and I_1(a) / a up to kBesselFar as polynomials of a^2 whose terms are
// all positive; beyond, e^-a sqrt(a) I(a) as one of 1 / a. Errors of all fits
// are below 1e-8 of the result.
inline constexpr float kBesselFar = 5;

struct BesselOrder0 {
  PROA_HD static float Near(float s) {
    const float w = s * s;
    const float p = 1 + 0x1.000006p-2f * s;
    const float q = 0x1.ffff42p-7f + 0x1.c7265cp-12f * s;
    const float r = 0x1.c6a1d8p-18f + 0x1.2657cap-24f * s;
    const float t = 0x1.dbebap-32f + 0x1.df8dbep-39f * s;
    return p + w * (q + w * (r + w * t));
  }
  PROA_HD static float Far(float u) {
    const float w = u * u;
    float p = -0x1.3d70f8p6f;
    p = (-0x1.a7f82cp1f + 0x1.1f5212p5f * u) + w * p;
    p = (0x1.0772b6p-3f + -0x1.c731ccp-3f * u) + w * p;
    p = (0x1.ce72bcp-6f + 0x1.7cddecp-6f * u) + w * p;
    return (0x1.988454p-2f + 0x1.98808p-5f * u) + w * p;
  }
  // With the parity of the order.
  PROA_HD static float NearOf(float, float near) { return near; }
  PROA_HD static float FarOf(float, float far) { return far; }
};

struct BesselOrder1 {
  PROA_HD static float Near(float s) {
    const float w = s * s;
    const float p = 0.5f + 0x1.000002p-4f * s;
    const float q = 0x1.55551ap-9f + 0x1.c721fep-15f * s;
    const float r = 0x1.6bd6fap-21f + 0x1.87610cp-28f * s;
    const float t = 0x1.143b4p-35f + 0x1.d24f34p-43f * s;
    return p + w * (q + w * (r + w * t));
  }
  PROA_HD static float Far(float u) {
    const float w = u * u;
    float p = 0x1.73d4e4p6f;
    p = (0x1.441aa4p2f + -0x1.628eb4p5f * u) + w * p;
    p = (-0x1.11ceaap-3f + 0x1.74c4bcp-6f * u) + w * p;
    p = (-0x1.807972p-5f + -0x1.1e686ep-5f * u) + w * p;
    return (0x1.988454p-2f + -0x1.326238p-3f * u) + w * p;
  }
  PROA_HD static float NearOf(float x, float near) { return x * near; }
  PROA_HD static float FarOf(float x, float far) {
    return vmath::CopySign(far, x);
  }
};

// e^-|x| I(x). At most 4.5 ULP.
template <class Order>
PROA_HD float ScaledBesselOf(float x) {
  const float a = vmath::Abs(x);
  const bool far = a >= kBesselFar;
  const float b = far ? kBesselFar : a;
  const float near = Order::NearOf(x, vmath::ExpDown(b) * Order::Near(b * b));
  const float u = 1 / (far ? a : kBesselFar);
  const float y = far ? Order::FarOf(x, std::sqrt(u) * Order::Far(u)) : near;
  return x != x ? x : y;
}

// I(x). At most 4.5 ULP.
template <class Order>
PROA_HD float BesselOf(float x) {
  const float a = vmath::AbsUpTo(x, 100);  // from 92 on it overflows
  const bool far = a >= kBesselFar;
  const float b = far ? kBesselFar : a, c = far ? a : kBesselFar;
  const float near = Order::NearOf(x, Order::Near(b * b));
  const float u = 1 / c;
  int32_t n;
  const float r = vmath::ReduceExp(c, &n);
  const float power = 1 + (r + r * r * vmath::ExpTail(r));
  const float scaled = std::sqrt(u) * Order::Far(u) * power;
  const float y = far ? Order::FarOf(x, vmath::Scale(scaled, n)) : near;
  return x != x ? x : y;
}

// Of double; `Rare`, made of an order, computes what has no vector version.
template <class Rare, bool kScaled>
void BesselLoop(int64_t order, const double* x, double* out, int64_t n) {
  const auto run = [&]<class Order>(Order) __attribute__((always_inline)) {
    struct Alone {
      static double Apply(double v) { return Rare{Order::kOrder}.Apply(v); }
    };
    MapMost<special::InnerBessel<Order, kScaled>, Alone>(x, out, n);
  };
  if (order == 0) {
    run(special::BesselOrder0Double{});
  } else if (order == 1) {
    run(special::BesselOrder1Double{});
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = Rare{order}.Apply(x[i]);
  }
}

struct BesselI {
  static constexpr float kCost = 40;
  int64_t order;
  template <class T>
  T Apply(T x) const {
    return static_cast<T>(special::BesselI(order, x));
  }
  void Block(const double* x, double* out, int64_t n) const {
    BesselLoop<BesselI, false>(order, x, out, n);
  }
  PROA_HD void Block(const float* x, float* out, int64_t n) const {
    if (order == 0) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = BesselOf<BesselOrder0>(x[i]);
    } else if (order == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = BesselOf<BesselOrder1>(x[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = Apply(x[i]);
    }
  }
};

struct BesselIe {
  static constexpr float kCost = 40;
  int64_t order;
  template <class T>
  T Apply(T x) const {
    return static_cast<T>(special::ScaledBesselI(order, x));
  }
  void Block(const double* x, double* out, int64_t n) const {
    BesselLoop<BesselIe, true>(order, x, out, n);
  }
  PROA_HD void Block(const float* x, float* out, int64_t n) const {
    if (order == 0) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i)
        out[i] = ScaledBesselOf<BesselOrder0>(x[i]);
    } else if (order == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i)
        out[i] = ScaledBesselOf<BesselOrder1>(x[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = Apply(x[i]);
    }
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_SPECIAL_BESSEL_H_
