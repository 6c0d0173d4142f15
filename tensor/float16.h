// proa::float16: IEEE 754 binary16 as a storage type.
//
// Elements are kept in 16 bits; arithmetic is done in float (the implicit
// conversion), and written back with an explicit, correctly rounded conversion:
//   float16 a(1.5f), b(2.f);
//   float16 c(a * b + 1);     // one rounding
// Conversions are branch-free on purpose, so that loops over them vectorize.
// Not for use with <cmath> beyond what a float argument gives.
#ifndef PROA_TENSOR_FLOAT16_H_
#define PROA_TENSOR_FLOAT16_H_

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/round_to_odd.h"

namespace proa::inline v0 {

class float16 {
 public:
  float16() = default;  // uninitialized, like a float
  // Round to nearest, ties to even; overflow gives infinity; NaN stays NaN and
  // keeps the payload bits that fit.
  constexpr explicit float16(float v) : bits_(FromFloat(v)) {}
  template <typename T>
  requires(std::is_arithmetic_v<T> &&
           !std::is_same_v<T, float>) constexpr explicit float16(T v)
      : bits_(FromFloat(RoundToOddFloat(v))) {}

  static constexpr float16 FromBits(uint16_t bits) {
    float16 r{};
    r.bits_ = bits;
    return r;
  }
  constexpr uint16_t bits() const { return bits_; }

  constexpr operator float() const { return ToFloat(bits_); }  // exact

  constexpr float16 operator-() const { return FromBits(bits_ ^ 0x8000u); }
  constexpr float16& operator+=(float v) { return *this = float16(*this + v); }
  constexpr float16& operator-=(float v) { return *this = float16(*this - v); }
  constexpr float16& operator*=(float v) { return *this = float16(*this * v); }
  constexpr float16& operator/=(float v) { return *this = float16(*this / v); }

 private:
  static constexpr float ToFloat(uint16_t h) {
    const uint32_t magnitude = h & 0x7fffu;
    // Rebias the exponent by 127 - 15; infinity and NaN need it twice.
    const uint32_t rebias = 112u << 23;
    const uint32_t normal =
        (magnitude << 13) + rebias + (magnitude >= 0x7c00u ? rebias : 0u);
    // A subnormal is a count of 2^-24.
    const uint32_t subnormal = std::bit_cast<uint32_t>(
        static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
    const uint32_t bits = magnitude < 0x0400u ? subnormal : normal;
    return std::bit_cast<float>(bits | static_cast<uint32_t>(h & 0x8000u)
                                           << 16);
  }

  static constexpr uint16_t FromFloat(float f) {
    const uint32_t x = std::bit_cast<uint32_t>(f);
    const uint32_t magnitude = x & 0x7fffffffu;
    const uint32_t sign = (x >> 16) & 0x8000u;
    // Ties to even: add half of the last kept place, less one if it is even.
    // The carry may run into the exponent, up to infinity, as it should.
    const uint32_t normal =
        (magnitude - (112u << 23) + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
    // Below 2^-14: adding 0.5, whose last place is 2^-24, does the rounding.
    const float small =
        magnitude < 0x38800000u ? std::bit_cast<float>(magnitude) : 0.0f;
    const uint32_t subnormal =
        std::bit_cast<uint32_t>(small + 0.5f) - std::bit_cast<uint32_t>(0.5f);
    const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x03ffu);
    const uint32_t special = magnitude > 0x7f800000u ? nan : 0x7c00u;
    uint32_t bits = magnitude < 0x38800000u ? subnormal : normal;
    bits = magnitude >= 0x47800000u ? special : bits;  // 2^16 and above
    return static_cast<uint16_t>(bits | sign);
  }

  uint16_t bits_;
};
static_assert(sizeof(float16) == 2 && std::is_trivial_v<float16>);

}  // namespace proa::inline v0

template <>
class std::numeric_limits<::proa::float16> {
  using T = ::proa::float16;

 public:
  static constexpr bool is_specialized = true, is_signed = true;
  static constexpr bool is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true, is_iec559 = true;
  static constexpr bool is_bounded = true, is_modulo = false;
  static constexpr int digits = 11, digits10 = 3, max_digits10 = 5, radix = 2;
  static constexpr int min_exponent = -13, min_exponent10 = -4;
  static constexpr int max_exponent = 16, max_exponent10 = 4;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr T min() { return T::FromBits(0x0400); }
  static constexpr T max() { return T::FromBits(0x7bff); }
  static constexpr T lowest() { return T::FromBits(0xfbff); }
  static constexpr T epsilon() { return T::FromBits(0x1400); }
  static constexpr T round_error() { return T::FromBits(0x3800); }
  static constexpr T infinity() { return T::FromBits(0x7c00); }
  static constexpr T quiet_NaN() { return T::FromBits(0x7e00); }
  static constexpr T signaling_NaN() { return T::FromBits(0x7d00); }
  static constexpr T denorm_min() { return T::FromBits(0x0001); }
};

#endif  // PROA_TENSOR_FLOAT16_H_
