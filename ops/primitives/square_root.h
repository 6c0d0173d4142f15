// Square roots of many numbers.
#ifndef PROA_OPS_PRIMITIVES_SQUARE_ROOT_H_
#define PROA_OPS_PRIMITIVES_SQUARE_ROOT_H_

#include <cmath>
#include <cstdint>

#include "ops/primitives/host_device.h"
#if defined(__AVX512F__) && !defined(__CUDACC__)
#include "ops/primitives/square_root_avx512.h"
#else
#include "ops/primitives/square_root_plain.h"
#endif

namespace proa::inline v0::ops {

// out[i] = sqrt(x[i]); `out` may be `x`.
template <class T>
PROA_HD void SquareRoots(const T* x, T* out, int64_t n) {
  for (int64_t i = square_root::Vectors(x, out, n); i < n; ++i)
    out[i] = std::sqrt(x[i]);
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_SQUARE_ROOT_H_
