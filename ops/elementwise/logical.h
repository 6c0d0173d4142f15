// Scalar formulas of logical.yaml: truth values and bits.
#ifndef PROA_OPS_ELEMENTWISE_LOGICAL_H_
#define PROA_OPS_ELEMENTWISE_LOGICAL_H_

#include <cstdint>
#include <type_traits>

#include "ops/primitives/cast_value.h"
#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops::formula {

struct LogicalAnd {
  template <class T>
  PROA_HD static bool Apply(T a, T b) {
    return CastValue<bool>(a) & CastValue<bool>(b);
  }
};

struct LogicalOr {
  template <class T>
  PROA_HD static bool Apply(T a, T b) {
    return CastValue<bool>(a) | CastValue<bool>(b);
  }
};

struct LogicalXor {
  template <class T>
  PROA_HD static bool Apply(T a, T b) {
    return CastValue<bool>(a) != CastValue<bool>(b);
  }
};

struct LogicalNot {
  template <class T>
  PROA_HD static bool Apply(T a) {
    return !CastValue<bool>(a);
  }
};

struct BitwiseAnd {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct BitwiseOr {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct BitwiseXor {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

struct BitwiseNot {
  template <class T>
  PROA_HD static T Apply(T a) {
    if constexpr (std::is_same_v<T, bool>) {
      return !a;
    } else {
      return static_cast<T>(~a);
    }
  }
};

// Shifts by what is no number of places leave what goes on for ever.
template <class T>
PROA_HD bool IsPlaces(T b) {
  return b >= 0 && static_cast<uint64_t>(b) < 8 * sizeof(T);
}

struct BitwiseLeftShift {
  bool is_arithmetic;
  template <class T>
  PROA_HD T Apply(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    const bool fits = IsPlaces(b);
    return fits ? static_cast<T>(static_cast<U>(a) << b) : T(0);
  }
};

struct BitwiseRightShift {
  bool is_arithmetic;
  template <class T>
  PROA_HD T Apply(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    const bool fits = IsPlaces(b);
    if constexpr (std::is_signed_v<T>) {
      if (is_arithmetic) {
        return static_cast<T>(a >> (fits ? b : T(8 * sizeof(T) - 1)));
      }
    }
    return fits ? static_cast<T>(static_cast<U>(a) >> b) : T(0);
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_LOGICAL_H_
