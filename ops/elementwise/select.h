// Scalar formulas of select.yaml: choosing, clipping and blending.
#ifndef PROA_OPS_ELEMENTWISE_SELECT_H_
#define PROA_OPS_ELEMENTWISE_SELECT_H_

#include <optional>
#include <tuple>
#include <type_traits>

#include "ops/primitives/arithmetic.h"
#include "ops/primitives/host_device.h"
#include "tensor/scalar.h"

namespace proa::inline v0::ops::formula {

struct Where {
  template <class T>
  using InputTypes = std::tuple<bool, T, T>;
  template <class T>
  PROA_HD static T Apply(bool condition, T x, T y) {
    return condition ? x : y;
  }
};

// x * scale + bias, or (x + bias) * scale. On integers, a scale or bias with a
// fraction is applied in double and the result cut off.
struct Scale {
  Scalar scale;
  Scalar bias;
  bool bias_after_scale;

  template <class T>
  struct Bound {
    T scale, bias;
    bool bias_after_scale;
    PROA_HD T Apply(T x) const {
      const T after = WrapAdd(WrapMultiply(x, scale), bias);
      const T before = WrapMultiply(WrapAdd(x, bias), scale);
      return bias_after_scale ? after : before;
    }
  };
  template <class T>
  struct BoundInDouble {
    double scale, bias;
    bool bias_after_scale, whole;
    T whole_scale, whole_bias;
    PROA_HD T Apply(T x) const {
      if (whole) {
        return Bound<T>{whole_scale, whole_bias, bias_after_scale}.Apply(x);
      }
      const double v = static_cast<double>(x);
      return CastValue<T>(bias_after_scale ? v * scale + bias
                                           : (v + bias) * scale);
    }
  };

  template <class T>
  auto Bind() const {
    if constexpr (std::is_integral_v<T>) {
      const bool whole = IsWhole(scale) && IsWhole(bias);
      return BoundInDouble<T>{scale.to<double>(),
                              bias.to<double>(),
                              bias_after_scale,
                              whole,
                              whole ? scale.to<T>() : T(),
                              whole ? bias.to<T>() : T()};
    } else {
      return Bound<T>{scale.to<T>(), bias.to<T>(), bias_after_scale};
    }
  }

 private:
  static bool IsWhole(const Scalar& s) {
    if (!s.is_float()) return true;
    const double v = s.to<double>();
    return v == static_cast<double>(CastValue<int64_t>(v));
  }
};

// min and max are cut off to integers for integer x, as Paddle does.
struct Clip {
  std::optional<Scalar> min, max;

  template <class T>
  struct Bound {
    T min, max;
    // NaN stays; max wins where min > max, as NumPy has it.
    PROA_HD T Apply(T x) const {
      const T low = x < min ? min : x;
      return low > max ? max : low;
    }
  };
  template <class T>
  Bound<T> Bind() const {
    using Limits = std::numeric_limits<T>;
    constexpr bool kHasInfinity = Limits::has_infinity;
    const T lowest =
        kHasInfinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
    const T highest = kHasInfinity ? Limits::infinity() : Limits::max();
    return {min ? Limit<T>(*min) : lowest, max ? Limit<T>(*max) : highest};
  }
  // A bound as T: for integers the nearest that T holds, not what is left of
  // its bits.
  template <class T>
  static T Limit(const Scalar& s) {
    if constexpr (std::is_integral_v<T>) {
      if (s.is_float()) {
        return Saturate<T>(CastValue<int64_t>(s.to<double>()));
      }
      return Saturate<T>(s.to<int64_t>());
    } else {
      return s.to<T>();
    }
  }
  template <class T>
  static T Saturate(int64_t v) {
    using Limits = std::numeric_limits<T>;
    if (v < static_cast<int64_t>(Limits::lowest())) return Limits::lowest();
    if (v > static_cast<int64_t>(Limits::max())) return Limits::max();
    return static_cast<T>(v);
  }
};

// grad where min <= x <= max, else 0.
struct ClipBackward {
  std::optional<Scalar> min, max;

  template <class T>
  struct Bound {
    T min, max;
    PROA_HD T Apply(T grad, T x) const {
      return x >= min && x <= max ? grad : T(0);
    }
  };
  template <class T>
  Bound<T> Bind() const {
    const auto clip = Clip{min, max}.Bind<T>();
    return {clip.min, clip.max};
  }
};

// x + weight (y - x).
struct Lerp {
  template <class T>
  PROA_HD static T Apply(T x, T y, T weight) {
    return x + weight * (y - x);
  }
};

}  // namespace proa::inline v0::ops::formula

#endif  // PROA_OPS_ELEMENTWISE_SELECT_H_
