// The modified Bessel functions of the orders 0 and 1 in double without
// branches: bessel.h loops over them.
#ifndef PROA_OPS_SPECIAL_BESSEL_DOUBLE_H_
#define PROA_OPS_SPECIAL_BESSEL_DOUBLE_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math_double.h"

namespace proa::inline v0::ops::special {

// I_0(a) and I_1(a) / a up to kBesselFarDouble as polynomials of a^2, whose
// terms are all positive; beyond, e^-a sqrt(a) I(a) as one of t, from -1 to 1
// as 1 / a is from 0 to where that ends. Errors of all fits are below 2^-56 of
// the result.
inline constexpr double kBesselFarDouble = 12;

struct BesselOrder0Double {
  static constexpr int kOrder = 0;
  PROA_HD static double Near(double s) {
    const double w = s * s;
    const double even = vmath::Horner(
        w, 0x1.0000000000000p+0, 0x1.fffffffffffe5p-7, 0x1.c71c71c71b79fp-18,
        0x1.02e85c084ed33p-31, 0x1.522a43cbe7d6ap-47, 0x1.5601791115648p-64,
        0x1.4193bf02efcf6p-82, 0x1.3d6905b0b46cep-101, 0x1.52b97d6fde8b1p-121,
        0x1.eda9552a5f1f5p-144);
    const double odd = vmath::Horner(
        w, 0x1.0000000000001p-2, 0x1.c71c71c71c85cp-12, 0x1.23456789b322dp-24,
        0x1.522a43fa6c768p-39, 0x1.0b3133d3965d4p-55, 0x1.69cb295869eb0p-73,
        0x1.e750b1ebeea85p-92, 0x1.6eb8afc0c75e5p-111, 0x1.9241914233365p-131,
        0x1.b590d8756b302p-151);
    return vmath::MultiplyAdd(s, odd, even);
  }
  PROA_HD static double Far(double t) {
    const double w = t * t;
    const double even = vmath::Horner(
        w, 0x1.9ab25f8f56038p-2, 0x1.d5a27f3778137p-15, 0x1.d2593fce16fc4p-23,
        0x1.d942e22fad4a0p-29, 0x1.5798fc66abfebp-33, 0x1.48995e659d1acp-36,
        0x1.33362ab19bb6ep-37, -0x1.501a70e64ba42p-38, 0x1.6eb32144db4a1p-41);
    const double odd = vmath::Horner(
        w, 0x1.1e0569de02b3dp-9, 0x1.77807b2f81c0fp-19, 0x1.96f6d92ae267cp-26,
        0x1.6446425748212p-31, 0x1.a5a27d8281948p-35, 0x1.96fc4d35d64f8p-37,
        0x1.46af3275514acp-40, -0x1.740f4548f4d23p-39, 0x1.3e28b73c213c3p-41);
    return vmath::MultiplyAdd(t, odd, even);
  }
  // With the parity of the order.
  PROA_HD static double NearOf(double, double near) { return near; }
  PROA_HD static double FarOf(double, double far) { return far; }
};

struct BesselOrder1Double {
  static constexpr int kOrder = 1;
  PROA_HD static double Near(double s) {
    const double w = s * s;
    const double even = vmath::Horner(
        w, 0x1.0000000000000p-1, 0x1.5555555555553p-9, 0x1.6c16c16c1693ep-21,
        0x1.27e4fb776ecc2p-35, 0x1.2c9758cb5c48ap-51, 0x1.f1768c8d2a564p-69,
        0x1.8bcb77ba3c155p-87, 0x1.52cf710a9e3e6p-106, 0x1.4384b49d63fe3p-126,
        0x1.1d30216b42109p-148);
    const double odd = vmath::Horner(
        w, 0x1.0000000000000p-4, 0x1.c71c71c71c757p-15, 0x1.845c8a0ce7c48p-28,
        0x1.522a43f7d5cd2p-43, 0x1.ab81eb6899db8p-60, 0x1.e263e340223cdp-78,
        0x1.166e723c1415dp-96, 0x1.6d79258a62bcdp-116, 0x1.595a1b119b28ep-136,
        0x1.4fed1f382b74fp-156);
    return vmath::MultiplyAdd(s, odd, even);
  }
  PROA_HD static double Far(double t) {
    const double w = t * t;
    const double even = vmath::Horner(
        w, 0x1.920c27c8dc633p-2, -0x1.7eb85088a662ep-14, -0x1.24caf5398f7c4p-22,
        -0x1.10a5d0dc6142ep-28, -0x1.7aa2301d16ca9p-33, -0x1.5f1fa881c783ap-36,
        -0x1.452b87b5ea903p-37, 0x1.5c41d278697abp-38, -0x1.754b2fd2d376fp-41);
    const double odd = vmath::Horner(
        w, -0x1.a3c9adbe35637p-8, -0x1.00e3b419bacbdp-18,
        -0x1.e5651c99fde6bp-26, -0x1.9051773510599p-31, -0x1.c97646aff6dc3p-35,
        -0x1.ac87165d3c3f8p-37, -0x1.7ec5e20295a23p-40, 0x1.895cbd555f6e6p-39,
        -0x1.4c370787e2ee2p-41);
    return vmath::MultiplyAdd(t, odd, even);
  }
  PROA_HD static double NearOf(double x, double near) { return x * near; }
  PROA_HD static double FarOf(double x, double far) {
    return vmath::CopySign(far, x);
  }
};

// I(x), or e^-|x| I(x) if kScaled. At most 4.5 ULP, for finite numbers and, not
// scaled, where e^|x| is one. The others are left to scalar.h.
template <class Order, bool kScaled>
struct InnerBessel {
  static constexpr uint64_t kEnd =
      kScaled ? 0x7ff0000000000000 : std::bit_cast<uint64_t>(700.0);
  PROA_HD static uint64_t Number(double x) {
    return vmath::Bits(vmath::Abs(x));
  }
  PROA_HD static double Of(double x) {
    const double a = vmath::Abs(x);
    const bool far = a >= kBesselFarDouble;
    const double b = far ? kBesselFarDouble : a;
    const double u = 1 / (far ? a : 2 * b + 1);
    const double power = vmath::Exp<true>(kScaled ? -b : far ? a : 0.0);
    // What the rounding of b^2 lost counts six times near the end. The slope of
    // the logarithm in it is about u.
    const double square = b * b, lost = vmath::ProductError(b, b, square);
    const double rounded = Order::Near(square);
    const double near =
        Order::NearOf(x, vmath::MultiplyAdd(rounded, lost * u, rounded));
    const double t = vmath::MultiplyAdd(2 * kBesselFarDouble, u, -1.0);
    const double tail = Order::FarOf(x, std::sqrt(u) * Order::Far(t));
    if constexpr (kScaled) return far ? tail : near * power;
    return far ? tail * power : near;
  }
};

}  // namespace proa::inline v0::ops::special

#endif  // PROA_OPS_SPECIAL_BESSEL_DOUBLE_H_
