// CastValue<To>(v): conversion of one element between any two dtypes, defined
// for every value.
//
//   to bool             v != 0; NaN is true
//   float to integer    towards zero; int32, int64 saturate and NaN is 0; the
//                       narrower types take the low bits of the int32, so that
//                       -1.0 is 255 as uint8, as C programmers expect
//   integer to integer  low bits
//   to float16 and bfloat16   rounded once, to nearest even
//   complex to real     the real part
#ifndef PROA_OPS_PRIMITIVES_CAST_VALUE_H_
#define PROA_OPS_PRIMITIVES_CAST_VALUE_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/primitives/host_device.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

template <typename T>
inline constexpr bool kIsHalf =
    std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <typename T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

template <typename To, typename From>
PROA_HD To SaturatingInteger(From v) {
  using Limits = std::numeric_limits<To>;
  // 2^31 or 2^63: the first value that does not fit, exact in every float type.
  constexpr From kEnd = static_cast<From>(To{1} << (Limits::digits - 1)) * 2;
  return v >= kEnd   ? Limits::max()
         : v < -kEnd ? Limits::min()
         : v != v    ? To{0}
                     : static_cast<To>(v);
}

template <typename To, typename From>
PROA_HD To CastValue(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (kIsComplex<From>) {
    if constexpr (std::is_same_v<To, bool>) {
      return v.real() != 0 || v.imag() != 0;
    } else if constexpr (kIsComplex<To>) {
      using Real = typename To::value_type;
      return To(static_cast<Real>(v.real()), static_cast<Real>(v.imag()));
    } else {
      return CastValue<To>(v.real());
    }
  } else if constexpr (kIsHalf<From>) {
    return CastValue<To>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != 0;
  } else if constexpr (kIsComplex<To>) {
    using Real = typename To::value_type;
    return To(CastValue<Real>(v), Real{0});
  } else if constexpr (std::is_integral_v<To> &&
                       std::is_floating_point_v<From>) {
    using Wide = std::conditional_t<sizeof(To) == 8, int64_t, int32_t>;
    return static_cast<To>(SaturatingInteger<Wide>(v));
  } else {
    return static_cast<To>(v);
  }
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_CAST_VALUE_H_
