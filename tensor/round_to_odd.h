// A wide number as a float that keeps, in its last bit, whether anything was
// lost
// ("round to odd"). Rounding that float again to 16 bits gives the same result
// as rounding the wide number directly, where rounding twice to nearest would
// not. Source: Boldo, Melquiond, "Emulation of FMA and correctly rounded sums",
// 2008.
#ifndef PROA_TENSOR_ROUND_TO_ODD_H_
#define PROA_TENSOR_ROUND_TO_ODD_H_

#include <bit>
#include <cstdint>
#include <type_traits>

namespace proa::inline v0 {

constexpr float RoundToOddFloat(double v) {
  const float nearest = static_cast<float>(v);
  const double back = nearest;
  if (back == v || v != v) return nearest;  // exact, infinite or NaN
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  // Towards zero: one place down if the conversion rounded away from zero. (The
  // float below infinity is the largest finite one.)
  if ((v > 0 && back > v) || (v < 0 && back < v)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

template <typename T>
requires std::is_integral_v<T>
constexpr float RoundToOddFloat(T v) {
  if constexpr (sizeof(T) < 4) {
    return static_cast<float>(v);
  } else if constexpr (sizeof(T) == 4) {
    return RoundToOddFloat(static_cast<double>(v));
  } else {
    // More than 53 bits: the same, in two steps. The low 11 bits go (10 would
    // do for signed numbers), leaving a number that a double holds exactly.
    constexpr T kLow = 0x7ff;
    constexpr T kExact = T{1} << 53;
    const bool fits =
        v <= kExact && (std::is_unsigned_v<T> || v >= T{0} - kExact);
    const T sticky = (v & kLow) != 0 ? kLow + 1 : 0;
    return RoundToOddFloat(
        static_cast<double>(fits ? v : static_cast<T>((v & ~kLow) | sticky)));
  }
}

inline float RoundToOddFloat(long double v) {
  return RoundToOddFloat(static_cast<double>(v));
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_ROUND_TO_ODD_H_
