#include "ops/for_machine.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_loops.h"

namespace proa::inline v0::ops {

PoolLoops FindPoolLoops(DType dtype) {
  return ForMachine(sse2::PoolLoopsFor, avx2::PoolLoopsFor,
                    avx512::PoolLoopsFor)(dtype);
}

bool GradByRows(const PoolGeometry& g, int64_t channels) {
  constexpr int64_t kFew = 16;
  const auto& kernel = g.window.kernel;
  return g.format.dims < 3 &&
         (channels > 1 || (g.ByTaps(1) && g.ByTaps(2) && kernel[1] <= kFew &&
                           kernel[2] <= kFew && g.window.stride[2] <= kFew));
}

MaxPoolLoops FindMaxPoolLoops(DType dtype) {
  return ForMachine(sse2::MaxPoolLoopsFor, avx2::MaxPoolLoopsFor,
                    avx512::MaxPoolLoopsFor)(dtype);
}

}  // namespace proa::inline v0::ops
