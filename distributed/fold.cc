#include "distributed/fold.h"

#include <cmath>
#include <type_traits>

#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

template <typename T>
inline constexpr bool kHalf =
    std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <typename T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

// What elements are combined in.
template <typename T>
using Wide = std::conditional_t<kHalf<T>, float, T>;

// NaN wins, as in NumPy.
template <typename T>
T Lesser(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || a != a ? a : b;
  } else {
    return a < b ? a : b;
  }
}
template <typename T>
T Greater(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a > b || a != a ? a : b;
  } else {
    return a > b ? a : b;
  }
}

// Integers wrap around.
template <typename T, typename F>
T Wrapping(T a, T b, const F& f) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(
        f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return f(a, b);
  }
}

// Calls f(combine) with a function of two T.
template <typename T, typename F>
void WithCombination(ReduceOp r, const F& f) {
  if constexpr (std::is_same_v<T, bool>) {
    if (r == ReduceOp::kSum || r == ReduceOp::kMax || r == ReduceOp::kAvg) {
      f([](bool a, bool b) { return a | b; });
    } else {
      f([](bool a, bool b) { return a & b; });
    }
  } else {
    if (r == ReduceOp::kSum || r == ReduceOp::kAvg) {
      f([](T a, T b) {
        return Wrapping(a, b, [](auto x, auto y) { return x + y; });
      });
    } else if (r == ReduceOp::kProd) {
      f([](T a, T b) {
        return Wrapping(a, b, [](auto x, auto y) { return x * y; });
      });
    } else if constexpr (!kIsComplex<T>) {
      if (r == ReduceOp::kMin) {
        f([](T a, T b) { return Lesser(a, b); });
      } else {
        f([](T a, T b) { return Greater(a, b); });
      }
    }
  }
}

template <typename To, typename A, typename B, typename F>
void Loop(To* out, const A* a, const B* b, size_t n, const F& combine) {
  using W = Wide<A>;
  for (size_t i = 0; i < n; ++i) {
    out[i] =
        static_cast<To>(combine(static_cast<W>(a[i]), static_cast<W>(b[i])));
  }
}

}  // namespace

void RequireFoldable(const char* op, ReduceOp reduce, DType dtype) {
  const bool order = reduce == ReduceOp::kMin || reduce == ReduceOp::kMax;
  if ((order && IsComplex(dtype)) ||
      (reduce == ReduceOp::kAvg && !IsDifferentiable(dtype))) {
    ThrowTypeError(
        absl::StrCat(op, ": ", Name(reduce), " means nothing for ",
                     error_internal::Piece(Name(dtype)),
                     order ? "; complex numbers have no order"
                           : "; convert to a float first, or take sum"));
  }
}

Fold::Fold(ReduceOp reduce, DType dtype, int ranks, size_t chunk_elements)
    : reduce_(reduce),
      dtype_(dtype),
      ranks_(ranks),
      wide_((dtype == DType::kFloat16 || dtype == DType::kBFloat16) &&
            (ranks > 2 || reduce == ReduceOp::kAvg)),
      sums_(wide_ ? chunk_elements : 0) {}

void Fold::Start(void* out, const void* a, const void* b, size_t at, size_t n) {
  VisitDType(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    WithCombination<Wide<T>>(reduce_, [&](const auto& combine) {
      const T* x = static_cast<const T*>(a);
      const T* y = static_cast<const T*>(b);
      if constexpr (kHalf<T>) {
        if (wide_) {
          Loop(sums_.data() + at, x, y, n, combine);
          return;
        }
      }
      Loop(static_cast<T*>(out) + at, x, y, n, combine);
    });
  });
}

void Fold::Add(void* out, const void* x, size_t at, size_t n) {
  VisitDType(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    WithCombination<Wide<T>>(reduce_, [&](const auto& combine) {
      const T* more = static_cast<const T*>(x);
      if constexpr (kHalf<T>) {
        if (wide_) {
          float* sums = sums_.data() + at;
          Loop(sums, sums, more, n, combine);
          return;
        }
      }
      T* sums = static_cast<T*>(out) + at;
      Loop(sums, sums, more, n, combine);
    });
  });
}

void Fold::Finish(void* out, size_t n) {
  if (!wide_ && reduce_ != ReduceOp::kAvg) return;
  VisitDType(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    const bool mean = reduce_ == ReduceOp::kAvg;
    if constexpr (kHalf<T>) {
      const float ranks = mean ? static_cast<float>(ranks_) : 1.f;
      for (size_t i = 0; i < n; ++i) to[i] = T(sums_[i] / ranks);
    } else if constexpr (std::is_floating_point_v<T>) {
      for (size_t i = 0; i < n; ++i) to[i] /= static_cast<T>(ranks_);
    } else if constexpr (kIsComplex<T>) {
      using Part = typename T::value_type;
      for (size_t i = 0; i < n; ++i) to[i] /= static_cast<Part>(ranks_);
    }
  });
}

}  // namespace proa::inline v0::distributed
