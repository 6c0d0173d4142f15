// Kernels of norm.yaml.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/primitives/cpu/ahead.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/reduce.h"
#include "ops/primitives/cpu/summary.h"
#include "ops/reduction/norm_kernels.h"
#include "tensor/copy.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// What an element adds to a result, and how results meet. In double: squares of
// float neither overflow nor vanish there.
struct Squares {
  static constexpr double kStart = 0;
  static constexpr int kCost = 2;
  static double Of(double x) { return x * x; }
  static double Join(double a, double b) { return a + b; }
};

struct Cubes {
  static constexpr double kStart = 0;
  static constexpr int kCost = 2;
  static double Of(double x) { return std::fabs(x * x * x); }
  static double Join(double a, double b) { return a + b; }
};

struct Sizes {
  static constexpr double kStart = 0;
  static constexpr int kCost = 2;
  static double Of(double x) { return std::fabs(x); }
  static double Join(double a, double b) { return a + b; }
};

struct NotZero {
  static constexpr double kStart = 0;
  static constexpr int kCost = 2;
  static double Of(double x) { return x == 0 ? 0 : 1; }
  static double Join(double a, double b) { return a + b; }
};

// NaN stays: a comparison with it is false.
struct Largest {
  static constexpr double kStart = 0;
  static constexpr int kCost = 2;
  static double Of(double x) { return std::fabs(x); }
  static double Join(double a, double b) { return b > a || b != b ? b : a; }
};

struct Smallest {
  static constexpr double kStart = std::numeric_limits<double>::infinity();
  static constexpr int kCost = 2;
  static double Of(double x) { return std::fabs(x); }
  static double Join(double a, double b) { return b < a || b != b ? b : a; }
};

// `value` with what x adds to it. Squares of float are exact in double, so that
// one rounding gives the same bits as two.
template <class Part, class T>
inline double Joined(double value, T x) {
#if defined(__FMA__)
  if constexpr (std::is_same_v<Part, Squares> && std::is_same_v<T, float>) {
    const double wide = static_cast<double>(x);
    return __builtin_fma(wide, wide, value);
  }
#endif
  return Part::Join(value, Part::Of(static_cast<double>(x)));
}

// The operation of Summarize (ops/primitives/cpu/summary.h) made of them.
template <class T, class Part>
struct NormOf {
  using Compute = T;

  struct State {
    double value = Part::kStart;
  };

  static void Merge(const State& later, State* state) {
    state->value = Part::Join(state->value, later.value);
  }

  static void AddRun(const T* x, int64_t n, State* state) {
    // As many chains of additions as keep both units of addition busy.
    constexpr int kLanes = 32;
    double lane[kLanes];
    for (int j = 0; j < kLanes; ++j) lane[j] = Part::kStart;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      cpu::AskAhead(x + i, kLanes * sizeof(T));
      for (int j = 0; j < kLanes; ++j)
        lane[j] = Joined<Part>(lane[j], x[i + j]);
    }
    // A copy, which is indexed by variables, so that `lane` stays in registers.
    alignas(64) double rest[kLanes];
    for (int j = 0; j < kLanes; ++j) rest[j] = lane[j];
    for (int j = 0; i < n; ++i, ++j) {
      rest[j] = Joined<Part>(rest[j], x[i]);
    }
    for (int w = kLanes / 2; w > 0; w /= 2) {
      for (int j = 0; j < w; ++j) rest[j] = Part::Join(rest[j], rest[j + w]);
    }
    state->value = Part::Join(state->value, rest[0]);
  }

  class Columns {
   public:
    void Start(int64_t width) { std::fill_n(value_, width, Part::kStart); }

    void Add(const T* const* rows, int count, int64_t width, int64_t ahead) {
      summary::WithRowsAhead(rows, count, width, ahead,
                             [&](int64_t begin, int64_t end) {
                               for (int r = 0; r < count; ++r)
                                 AddOne(rows[r], begin, end);
                             });
    }

    void Finish(int64_t width, State* states) {
      for (int64_t j = 0; j < width; ++j) states[j] = {value_[j]};
    }

   private:
    void AddOne(const T* __restrict a, int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t j = begin; j < end; ++j) {
        value_[j] = Joined<Part>(value_[j], a[j]);
      }
    }

    alignas(64) double value_[summary::kColumns];
  };
};

// Converts the results `values` to `out`, from result `first` on.
void Store(const double* values, int64_t first, int64_t n, const Tensor& out) {
  char* to = out.data<char>() + first * ItemSize(out.dtype());
  const ConvertFn convert = FindConvert(DType::kFloat64, out.dtype());
  if (convert == nullptr) {
    std::copy_n(values, n, reinterpret_cast<double*>(to));
  } else {
    convert(values, to, n);
  }
}

template <class Part, class F>
void NormInto(const Tensor& x, uint64_t axes, Tensor* out, F result) {
  const auto finish = [&](int64_t first, const auto* states, int64_t n) {
    double values[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t count = std::min(kBlock, n - i);
      for (int64_t j = 0; j < count; ++j)
        values[j] = result(states[i + j].value);
      Store(values, first + i, count, *out);
    }
  };
  if (x.dtype() == DType::kFloat64) {
    Summarize<NormOf<double, Part>>(x, axes, Part::kCost, finish);
  } else {
    Summarize<NormOf<float, Part>>(x, axes, Part::kCost, finish);
  }
}

// Any p: powers of all elements in double, then their sums. `x` is contiguous.
void PowersInto(const Tensor& x, uint64_t axes, double p, Tensor* out) {
  Tensor powers = Tensor::Empty(x.shape(), DType::kFloat64);
  const ConvertFn convert = FindConvert(x.dtype(), DType::kFloat64);
  double* const to = powers.data<double>();
  if (convert == nullptr) {
    std::copy_n(x.data<double>(), x.numel(), to);
  } else {
    convert(x.raw_data(), to, x.numel());
  }
  constexpr int64_t kGrain = 1 << 10;
  parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = std::pow(std::fabs(to[i]), p);
  });
  NormInto<Sizes>(powers, axes, out,
                  [p](double sum) { return std::pow(sum, 1.0 / p); });
}

}  // namespace

void PNorm(const KernelContext&, const Tensor& x, double p,
           std::span<const int64_t> axis, bool, Tensor* out) {
  const uint64_t axes = ReducedAxes(x, axis);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto same = [](double v) { return v; };
  if (p == 2) {
    NormInto<Squares>(x, axes, out, [](double v) { return std::sqrt(v); });
  } else if (p == 3) {
    NormInto<Cubes>(x, axes, out, [](double v) { return std::cbrt(v); });
  } else if (p == 1) {
    NormInto<Sizes>(x, axes, out, same);
  } else if (p == 0) {
    NormInto<NotZero>(x, axes, out, same);
  } else if (p == kInfinity) {
    NormInto<Largest>(x, axes, out, same);
  } else if (p == -kInfinity) {
    NormInto<Smallest>(x, axes, out, same);
  } else {
    PowersInto(Contiguous(x), axes, p, out);
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
