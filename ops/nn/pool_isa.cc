#include "ops/kernel.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_loops.h"

namespace proa::inline v0::ops {

PoolLoops FindPoolLoops(DType dtype) {
  switch (MachineIsa()) {
    case Isa::kAvx512:
      return avx512::PoolLoopsFor(dtype);
    case Isa::kAvx2:
      return avx2::PoolLoopsFor(dtype);
    default:
      return sse2::PoolLoopsFor(dtype);
  }
}

MaxPoolLoops FindMaxPoolLoops(DType dtype) {
  switch (MachineIsa()) {
    case Isa::kAvx512:
      return avx512::MaxPoolLoopsFor(dtype);
    case Isa::kAvx2:
      return avx2::MaxPoolLoopsFor(dtype);
    default:
      return sse2::MaxPoolLoopsFor(dtype);
  }
}

}  // namespace proa::inline v0::ops
