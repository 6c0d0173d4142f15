// Kernel of random numbers of the gamma distribution.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/special/gamma_sample_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"
#include "tensor/philox.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Tries of two blocks each that one number may take; a try fails with
// probability below 0.05, so that all do once in 10^20.
constexpr int kTries = 16;
constexpr int kBlocks = 2 * kTries;

// G. Marsaglia and W. W. Tsang, "A simple method for generating gamma
// variables", 2000. Shapes below 1 by gamma(a) = gamma(a + 1) u^(1/a).
double GammaOne(double shape, const PhiloxStream& stream, int64_t element) {
  const uint64_t first = static_cast<uint64_t>(element) * kBlocks;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  double value = d;
  std::array<uint32_t, 4> rest = {};
  for (int i = 0; i < kTries; ++i) {
    rest = stream.Block(first + 2 * i + 1);
    const double normal = NormalDouble(stream.Block(first + 2 * i)).first;
    const double root = 1 + c * normal;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1 - UniformDouble(rest[0], rest[1]);
    if (std::log(u) < 0.5 * normal * normal + d * (1 - v + std::log(v))) {
      value = d * v;
      break;
    }
  }
  if (shape >= 1) return value;
  const double u = 1 - UniformDouble(rest[2], rest[3]);
  return value * std::exp(std::log(u) / shape);
}

}  // namespace

void StandardGamma(const KernelContext& ctx, const Tensor& x, int64_t seed,
                   Tensor* out) {
  const int64_t n = x.numel(), words = CheckedMul(n, 4 * kBlocks);
  VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (IsFloat(kDTypeOf<T>)) {
      const T* shapes = x.data<T>();
      for (int64_t i = 0; i < n; ++i) {
        const double shape = static_cast<double>(shapes[i]);
        PROA_REQUIRE(
            shape > 0 && std::isfinite(shape),
            "standard_gamma: a shape is not positive or not finite: element ",
            i, " is ", shape, "; x is ", Describe(x));
      }
      const PhiloxStream stream =
          seed != 0 ? PhiloxStream(static_cast<uint64_t>(seed), 0)
                    : DefaultGenerator(ctx.place).Reserve(words);
      // The smallest normal numbers of float16 and of the others' exponents.
      constexpr double kLeast = std::is_same_v<T, float16>  ? 0x1p-14
                                : std::is_same_v<T, double> ? 0x1p-1022
                                                            : 0x1p-126;
      T* to = out->data<T>();
      parallel_for(0, n, 64, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) {
          const double value =
              GammaOne(static_cast<double>(shapes[i]), stream, i);
          to[i] = static_cast<T>(std::max(value, kLeast));
        }
      });
    }
  });
}

}  // namespace proa::inline v0::ops::cpu
