#include "ops/creation/random_arguments.h"

#include <cmath>

#include "tensor/error.h"
#include "tensor/generator.h"

namespace proa::inline v0::ops {

PhiloxStream RandomStream(const KernelContext& ctx, int64_t seed,
                          int64_t words) {
  if (seed != 0) return PhiloxStream(static_cast<uint64_t>(seed), 0);
  return ctx.generator().Reserve(words);
}

void CheckUniform(double low, double high) {
  PROA_REQUIRE(std::isfinite(low) && std::isfinite(high), "uniform: min ", low,
               " and max ", high, " must be finite");
  PROA_REQUIRE(low <= high, "uniform: min ", low, " is larger than max ", high);
}

void CheckGaussian(double std) {
  PROA_REQUIRE(std >= 0, "gaussian: std ", std, " is negative");
}

void CheckTruncatedGaussian(double std, double a, double b) {
  PROA_REQUIRE(std >= 0, "truncated_gaussian: std ", std, " is negative");
  PROA_REQUIRE(a < b, "truncated_gaussian: a ", a, " is not below b ", b);
}

void CheckExponential(double lam) {
  PROA_REQUIRE(lam > 0, "exponential: lam ", lam, " is not positive");
}

}  // namespace proa::inline v0::ops
