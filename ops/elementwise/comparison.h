// Scalar formulas of comparison.yaml: two elements give a bool.
#ifndef PROA_OPS_ELEMENTWISE_COMPARISON_H_
#define PROA_OPS_ELEMENTWISE_COMPARISON_H_

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "ops/primitives/cast_value.h"
#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops::formula {

struct Equal {
  template <class T>
  PROA_HD static bool Apply(T a, T b) {
    return a == b;
  }
};

struct NotEqual {
  template <class T>
  PROA_HD static bool Apply(T a, T b) {
    return a != b;
  }
};

struct LessThan {
  template <class T>
  PROA_HD static bool Apply(T a, T b) {
    return a < b;
  }
};

struct LessEqual {
  template <class T>
  PROA_HD static bool Apply(T a, T b) {
    return a <= b;
  }
};

struct GreaterThan {
  template <class T>
  PROA_HD static bool Apply(T a, T b) {
    return a > b;
  }
};

struct GreaterEqual {
  template <class T>
  PROA_HD static bool Apply(T a, T b) {
    return a >= b;
  }
};

// |a - b| <= atol + rtol * |b|, in double as NumPy compares.
struct Isclose {
  static constexpr float kCost = 4;
  double rtol, atol;
  bool equal_nan;

  template <class T>
  PROA_HD bool Apply(T a, T b) const {
    if constexpr (kIsComplex<T>) {
      if (a == b) return true;
      if (IsNan(a) || IsNan(b)) return equal_nan && IsNan(a) && IsNan(b);
      return WithinTolerance(std::abs(a - b), std::abs(b));
    } else {
      if (a == b) return true;  // infinities too
      if (IsNan(a) || IsNan(b)) return equal_nan && IsNan(a) && IsNan(b);
      const double x = static_cast<double>(a), y = static_cast<double>(b);
      return WithinTolerance(std::abs(x - y), std::abs(y));
    }
  }

  // Without branches, so that it vectorizes.
  template <class T>
  requires std::is_floating_point_v<T>
  __attribute__((always_inline)) void Block(const T* a, const T* b, bool* out,
                                            int64_t n) const {
    uint8_t* bytes = reinterpret_cast<uint8_t*>(out);
    const bool nan = equal_nan;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
      const double difference = std::abs(x - y);
      const bool within = (difference <= atol + rtol * std::abs(y)) &
                          (difference <= 1.7976931348623157e308);
      const bool both = nan & (x != x) & (y != y);
      bytes[i] = (x == y) | within | both ? 1 : 0;
    }
  }

 private:
  template <class T>
  PROA_HD static bool IsNan(T a) {
    return a != a;
  }
  // False for infinite differences even where the bound is infinite.
  PROA_HD bool WithinTolerance(double difference, double magnitude) const {
    return difference <= atol + rtol * magnitude &&
           difference <= 1.7976931348623157e308;
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_COMPARISON_H_
