// Kernels of random tensors. Each element is computed from its index and a
// Philox stream (tensor/philox.h), so threads may share the work in any way.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/creation/random_arguments.h"
#include "ops/creation/random_kernels.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"

namespace proa::inline v0::ops::cpu {
namespace {

using Block = std::array<uint32_t, 4>;
constexpr int64_t kGrain = 4096;  // numbers; about 10 ns each

// out[i] = f(block i / per_block, i % per_block) for each element.
template <typename T, typename F>
void FillFrom(const PhiloxStream& stream, int per_block, Tensor* out, F f) {
  T* to = out->data<T>();
  const int64_t n = out->numel();
  const int64_t blocks = n / per_block + (n % per_block != 0);
  parallel_for(0, blocks, kGrain / per_block, [&](int64_t b, int64_t e) {
    for (int64_t k = b; k < e; ++k) {
      const Block block = stream.Block(k);
      const int64_t first = k * per_block;
      const int count =
          static_cast<int>(std::min<int64_t>(per_block, n - first));
      for (int j = 0; j < count; ++j)
        to[first + j] = static_cast<T>(f(block, j, first + j));
    }
  });
}

// Runs `narrow(T)` for the types that are computed in float, one word a number,
// and `wide()` for double, two words a number; `f` maps a number in [0, 1).
template <typename F>
void FillUniform(const KernelContext& ctx, int64_t seed, Tensor* out, F f) {
  const int64_t words =
      out->numel() * (out->dtype() == DType::kFloat64 ? 2 : 1);
  const PhiloxStream stream = RandomStream(ctx, seed, words);
  const auto narrow = [&]<typename T>(T) {
    FillFrom<T>(stream, 4, out, [&](const Block& r, int j, int64_t i) {
      return f(UniformFloat(r[j]), i);
    });
  };
  switch (out->dtype()) {
    case DType::kFloat16:
      return narrow(float16());
    case DType::kBFloat16:
      return narrow(bfloat16());
    case DType::kFloat32:
      return narrow(float());
    default:
      FillFrom<double>(stream, 2, out, [&](const Block& r, int j, int64_t i) {
        return f(UniformDouble(r[2 * j], r[2 * j + 1]), i);
      });
  }
}

// The inverse of the error function on (-1, 1): the approximation of M. Giles
// ("Approximating the erfinv function", 2011), made exact by two Newton steps.
double InverseErf(double y) {
  const double w = -std::log((1.0 - y) * (1.0 + y));
  double x;
  if (w < 5.0) {
    const double v = w - 2.5;
    x = 2.81022636e-08;
    for (double c :
         {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
          -0.00125372503, -0.00417768164, 0.246640727, 1.50140941}) {
      x = c + x * v;
    }
  } else {
    const double v = std::sqrt(w) - 3.0;
    x = -0.000200214257;
    for (double c :
         {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
          -0.0076224613, 0.00943887047, 1.00167406, 2.83297682}) {
      x = c + x * v;
    }
  }
  x *= y;
  for (int i = 0; i < 2; ++i) {
    x -= (std::erf(x) - y) / (1.1283791670955126 * std::exp(-x * x));
  }
  return x;
}

// Words that one Poisson number may use: 16 tries of two numbers of 64 bits.
constexpr int kPoissonBlocks = 16;

// By Stirling's series; std::lgamma writes a global variable.
double LogFactorial(double k) {
  if (k < 10) {
    double product = 1;
    for (double i = 2; i <= k; ++i) product *= i;
    return std::log(product);
  }
  const double r = 1 / k, r2 = r * r;
  return (k + 0.5) * std::log(k) - k + 0.9189385332046727 +
         r * (1.0 / 12 - r2 * (1.0 / 360 - r2 / 1260));
}

// Small means by inversion, large ones by the transformed rejection PTRS of W.
// Hörmann, "The transformed rejection method for generating Poisson random
// variables", 1993. A try fails with probability below 0.3.
double PoissonOne(double mean, const PhiloxStream& stream, int64_t element) {
  const auto block = [&](int k) {
    return stream.Block(static_cast<uint64_t>(element) * kPoissonBlocks + k);
  };
  if (mean < 10) {
    const Block r = block(0);
    const double u = UniformDouble(r[0], r[1]);
    double p = std::exp(-mean), sum = p, k = 0;
    // Beyond 200 the rest is below the last place of u.
    while (u >= sum && k < 200) sum += p *= mean / ++k;
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  for (int t = 0; t < kPoissonBlocks; ++t) {
    const Block r = block(t);
    const double u = UniformDouble(r[0], r[1]) - 0.5;
    const double v = 1 - UniformDouble(r[2], r[3]);
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <=
        k * std::log(mean) - mean - LogFactorial(k)) {
      return k;
    }
  }
  return std::floor(mean);  // once in 10^9; PTRS draws it most often anyway
}

// Weights of one distribution as double; throws unless they make one.
template <typename T>
double ReadWeights(const T* x, int64_t row, std::vector<double>* w) {
  double total = 0;
  for (size_t i = 0; i < w->size(); ++i) {
    const double v = static_cast<double>(x[i]);
    PROA_REQUIRE(std::isfinite(v) && v >= 0, "multinomial: weight ", v, " at [",
                 row, ", ", i, "] is negative or not finite");
    (*w)[i] = v;
    total += v;
  }
  PROA_REQUIRE(total > 0, "multinomial: the weights of row ", row, " sum to ",
               total, "; the sum must be positive");
  return total;
}

// Number k of row: a double in [0, 1) of the words 2 * k and 2 * k + 1.
double NumberAt(const PhiloxStream& stream, int64_t k) {
  const Block r = stream.Block(k / 2);
  return k % 2 == 0 ? UniformDouble(r[0], r[1]) : UniformDouble(r[2], r[3]);
}

// With replacement: the weights' running sum is searched for a number below its
// end.
void DrawWithReplacement(const PhiloxStream& stream, int64_t first,
                         std::vector<double>* w, double total, int64_t count,
                         int64_t* out) {
  std::partial_sum(w->begin(), w->end(), w->begin());
  int64_t last =
      static_cast<int64_t>(w->size()) - 1;  // the last of positive weight
  while (last > 0 && (*w)[last - 1] == (*w)[last]) --last;
  for (int64_t k = 0; k < count; ++k) {
    const double u = NumberAt(stream, first + k) * total;
    const int64_t i = std::upper_bound(w->begin(), w->end(), u) - w->begin();
    out[k] = std::min(i, last);
  }
}

// Without: exponential clocks of the weights as rates; the first to ring are
// drawn, in the order they ring (Efraimidis and Spirakis, 2006).
void DrawWithoutReplacement(const PhiloxStream& stream, int64_t first,
                            int64_t row, const std::vector<double>& w,
                            int64_t count, int64_t* out) {
  std::vector<std::pair<double, int64_t>> times;
  for (size_t i = 0; i < w.size(); ++i) {
    if (w[i] == 0) continue;
    const double u = 1 - NumberAt(stream, first + static_cast<int64_t>(i));
    times.emplace_back(-std::log(u) / w[i], static_cast<int64_t>(i));
  }
  PROA_REQUIRE(static_cast<int64_t>(times.size()) >= count,
               "multinomial: ", count, " samples without replacement, but row ",
               row, " has ", times.size(), " weights above zero");
  std::partial_sort(times.begin(), times.begin() + count, times.end());
  for (int64_t k = 0; k < count; ++k) out[k] = times[k].second;
}

template <typename F>
void VisitFloat(DType dtype, F f) {
  VisitDType(dtype, [&]<typename T>(TypeTag<T> tag) {
    if constexpr (IsFloat(kDTypeOf<T>)) f(tag);
  });
}

}  // namespace

void Uniform(const KernelContext& ctx, const IntArray&, std::optional<DType>,
             const Scalar& min, const Scalar& max, int64_t seed,
             std::optional<Place>, Tensor* out) {
  const double low = min.to<double>(), high = max.to<double>();
  CheckUniform(low, high);
  VisitFloat(out->dtype(), [&]<typename T>(TypeTag<T>) {
    // Rounding may reach max, which does not belong to the range.
    FillUniform(ctx, seed, out, [=]<typename U>(U u, int64_t) {
      const T v =
          static_cast<T>(static_cast<U>(low) + u * static_cast<U>(high - low));
      return static_cast<double>(v) >= high
                 ? static_cast<T>(static_cast<U>(low))
                 : v;
    });
  });
}

void Gaussian(const KernelContext& ctx, const IntArray&, std::optional<DType>,
              double mean, double std, int64_t seed, std::optional<Place>,
              Tensor* out) {
  CheckGaussian(std);
  const bool wide = out->dtype() == DType::kFloat64;
  const PhiloxStream stream =
      RandomStream(ctx, seed, out->numel() * (wide ? 2 : 1));
  const int64_t n = out->numel();
  VisitFloat(out->dtype(), [&]<typename T>(TypeTag<T>) {
    using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    constexpr int kPerBlock = std::is_same_v<T, double> ? 2 : 4;
    T* to = out->data<T>();
    const Real m = static_cast<Real>(mean), s = static_cast<Real>(std);
    parallel_for(0, n / kPerBlock + (n % kPerBlock != 0), kGrain / kPerBlock,
                 [&](int64_t b, int64_t e) {
                   for (int64_t k = b; k < e; ++k) {
                     const Block r = stream.Block(k);
                     Real z[kPerBlock];
                     if constexpr (kPerBlock == 2) {
                       std::tie(z[0], z[1]) = NormalDouble(r);
                     } else {
                       std::tie(z[0], z[1]) = NormalFloat(r[0], r[1]);
                       std::tie(z[2], z[3]) = NormalFloat(r[2], r[3]);
                     }
                     for (int64_t j = 0; j < kPerBlock && k * kPerBlock + j < n;
                          ++j) {
                       to[k * kPerBlock + j] = static_cast<T>(m + s * z[j]);
                     }
                   }
                 });
  });
}

void TruncatedGaussian(const KernelContext& ctx, const IntArray&,
                       std::optional<DType>, double mean, double std, double a,
                       double b, int64_t seed, std::optional<Place>,
                       Tensor* out) {
  CheckTruncatedGaussian(std, a, b);
  // By inversion: erf at the ends, a number between, back.
  const double low = std::erf(a * 0.7071067811865476);
  const double high = std::erf(b * 0.7071067811865476);
  FillUniform(ctx, seed, out, [=](auto u, int64_t) {
    const double p = low + (high - low) * static_cast<double>(u);
    const double z =
        1.4142135623730951 * InverseErf(std::clamp(p, -1 + 1e-16, 1 - 1e-16));
    return mean + std * std::clamp(z, a, b);
  });
}

void Randint(const KernelContext& ctx, int64_t low, std::optional<int64_t> high,
             const IntArray&, std::optional<DType>, int64_t seed,
             std::optional<Place>, Tensor* out) {
  const int64_t from = high.has_value() ? low : 0, to = high.value_or(low);
  // As unsigned numbers: the range may be wider than int64.
  const uint64_t range =
      static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  const PhiloxStream stream =
      RandomStream(ctx, seed, CheckedMul(out->numel(), 2));
  VisitDType(out->dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      FillFrom<T>(stream, 2, out, [&](const Block& r, int j, int64_t) {
        return static_cast<T>(static_cast<uint64_t>(from) +
                              UniformInt(r[2 * j], r[2 * j + 1], range));
      });
    }
  });
}

void Randperm(const KernelContext& ctx, int64_t n, DType, int64_t seed,
              std::optional<Place>, Tensor* out) {
  const PhiloxStream stream = RandomStream(ctx, seed, CheckedMul(n, 2));
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  // Fisher and Yates, from the end.
  for (int64_t i = n - 1; i > 0; --i) {
    const Block r = stream.Block(i / 2);
    const int half = static_cast<int>(i % 2) * 2;
    std::swap(order[i], order[UniformInt(r[half], r[half + 1], i + 1)]);
  }
  VisitDType(out->dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (!IsComplex(kDTypeOf<T>)) {
      std::transform(order.begin(), order.end(), out->data<T>(),
                     [](int64_t v) { return static_cast<T>(v); });
    }
  });
}

void Bernoulli(const KernelContext& ctx, const Tensor& x, int64_t seed,
               Tensor* out) {
  VisitFloat(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* p = x.data<T>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      PROA_REQUIRE(p[i] >= T(0.f) && p[i] <= T(1.f),
                   "bernoulli: a probability lies outside [0, 1]: element ", i,
                   " is ", static_cast<double>(p[i]));
    }
    FillUniform(ctx, seed, out, [p](auto u, int64_t i) {
      return static_cast<T>(u < static_cast<decltype(u)>(p[i]) ? 1.f : 0.f);
    });
  });
}

void Multinomial(const KernelContext& ctx, const Tensor& x, int64_t num_samples,
                 bool replacement, int64_t seed, Tensor* out) {
  const int64_t n = x.size(x.rank() - 1), rows = x.numel() / n;
  const int64_t per_row = replacement ? num_samples : n;
  const PhiloxStream stream =
      RandomStream(ctx, seed, CheckedMul(CheckedMul(rows, per_row), 2));
  VisitFloat(x.dtype(), [&]<typename T>(TypeTag<T>) {
    parallel_for(0, rows, std::max<int64_t>(1, kGrain / (n + num_samples)),
                 [&](int64_t b, int64_t e) {
                   std::vector<double> w(n);
                   for (int64_t row = b; row < e; ++row) {
                     const double total =
                         ReadWeights(x.data<T>() + row * n, row, &w);
                     int64_t* to = out->data<int64_t>() + row * num_samples;
                     if (replacement) {
                       DrawWithReplacement(stream, row * per_row, &w, total,
                                           num_samples, to);
                     } else {
                       DrawWithoutReplacement(stream, row * per_row, row, w,
                                              num_samples, to);
                     }
                   }
                 });
  });
}

void Exponential(const KernelContext& ctx, const Tensor&, double lam,
                 int64_t seed, Tensor* out) {
  CheckExponential(lam);
  FillUniform(ctx, seed, out, [=]<typename U>(U u, int64_t) {
    return -std::log1p(-u) / static_cast<U>(lam);
  });
}

void Poisson(const KernelContext& ctx, const Tensor& x, int64_t seed,
             Tensor* out) {
  const int64_t words = CheckedMul(x.numel(), 4 * kPoissonBlocks);
  VisitFloat(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* mean = x.data<T>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      PROA_REQUIRE(
          mean[i] >= T(0.f) && std::isfinite(static_cast<double>(mean[i])),
          "poisson: a mean is negative or not finite: element ", i, " is ",
          static_cast<double>(mean[i]));
    }
    const PhiloxStream stream = RandomStream(ctx, seed, words);
    T* to = out->data<T>();
    parallel_for(0, x.numel(), 512, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        to[i] =
            static_cast<T>(PoissonOne(static_cast<double>(mean[i]), stream, i));
      }
    });
  });
}

}  // namespace proa::inline v0::ops::cpu
