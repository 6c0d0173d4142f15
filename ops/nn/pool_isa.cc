#include "ops/kernel.h"
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

}  // namespace proa::inline v0::ops
