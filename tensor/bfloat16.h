// proa::bfloat16: the upper half of a float, as a storage type: the range of
// float with 8 bits of precision.
//
// Arithmetic is done in float (the implicit conversion) and written back with
// an explicit, correctly rounded conversion, as with float16.
#ifndef PROA_TENSOR_BFLOAT16_H_
#define PROA_TENSOR_BFLOAT16_H_

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/round_to_odd.h"

namespace proa::inline v0 {

class bfloat16 {
 public:
  bfloat16() = default;  // uninitialized, like a float
  // Round to nearest, ties to even; overflow gives infinity; NaN stays NaN and
  // keeps the payload bits that fit.
  constexpr explicit bfloat16(float v) : bits_(FromFloat(v)) {}
  template <typename T>
  requires(std::is_arithmetic_v<T> &&
           !std::is_same_v<T, float>) constexpr explicit bfloat16(T v)
      : bits_(FromFloat(RoundToOddFloat(v))) {}

  static constexpr bfloat16 FromBits(uint16_t bits) {
    bfloat16 r{};
    r.bits_ = bits;
    return r;
  }
  constexpr uint16_t bits() const { return bits_; }

  constexpr operator float() const {  // exact
    return std::bit_cast<float>(static_cast<uint32_t>(bits_) << 16);
  }

  constexpr bfloat16 operator-() const { return FromBits(bits_ ^ 0x8000u); }
  constexpr bfloat16& operator+=(float v) {
    return *this = bfloat16(*this + v);
  }
  constexpr bfloat16& operator-=(float v) {
    return *this = bfloat16(*this - v);
  }
  constexpr bfloat16& operator*=(float v) {
    return *this = bfloat16(*this * v);
  }
  constexpr bfloat16& operator/=(float v) {
    return *this = bfloat16(*this / v);
  }

 private:
  static constexpr uint16_t FromFloat(float f) {
    const uint32_t x = std::bit_cast<uint32_t>(f);
    // Ties to even: add half of the last kept place, less one if it is even.
    const uint32_t rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    const uint32_t nan = (x >> 16) | 0x0040u;
    return static_cast<uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? nan
                                                                 : rounded);
  }

  uint16_t bits_;
};
static_assert(sizeof(bfloat16) == 2 && std::is_trivial_v<bfloat16>);

}  // namespace proa::inline v0

template <>
class std::numeric_limits<::proa::bfloat16> {
  using T = ::proa::bfloat16;

 public:
  static constexpr bool is_specialized = true, is_signed = true;
  static constexpr bool is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true, is_iec559 = false;
  static constexpr bool is_bounded = true, is_modulo = false;
  static constexpr int digits = 8, digits10 = 2, max_digits10 = 4, radix = 2;
  static constexpr int min_exponent = -125, min_exponent10 = -37;
  static constexpr int max_exponent = 128, max_exponent10 = 38;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr T min() { return T::FromBits(0x0080); }
  static constexpr T max() { return T::FromBits(0x7f7f); }
  static constexpr T lowest() { return T::FromBits(0xff7f); }
  static constexpr T epsilon() { return T::FromBits(0x3c00); }
  static constexpr T round_error() { return T::FromBits(0x3f00); }
  static constexpr T infinity() { return T::FromBits(0x7f80); }
  static constexpr T quiet_NaN() { return T::FromBits(0x7fc0); }
  static constexpr T signaling_NaN() { return T::FromBits(0x7fa0); }
  static constexpr T denorm_min() { return T::FromBits(0x0001); }
};

#endif  // PROA_TENSOR_BFLOAT16_H_
