// What the kernels of random tensors of every backend ask of their arguments,
// and where their numbers come from.
#ifndef PROA_OPS_CREATION_RANDOM_ARGUMENTS_H_
#define PROA_OPS_CREATION_RANDOM_ARGUMENTS_H_

#include <cstdint>

#include "ops/kernel.h"
#include "tensor/philox.h"

namespace proa::inline v0::ops {

// The sequence of `seed`, or with 0 the next `words` words of the context's
// generator.
PhiloxStream RandomStream(const KernelContext& ctx, int64_t seed,
                          int64_t words);

// Each throws Error for arguments that make no distribution.
void CheckUniform(double low, double high);
void CheckGaussian(double std);
void CheckTruncatedGaussian(double std, double a, double b);
void CheckExponential(double lam);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_CREATION_RANDOM_ARGUMENTS_H_
