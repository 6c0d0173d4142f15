#include "ops/for_machine.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_loops.h"

namespace proa::inline v0::ops {

PoolLoops FindPoolLoops(DType dtype) {
  return ForMachine(sse2::PoolLoopsFor, avx2::PoolLoopsFor,
                    avx512::PoolLoopsFor)(dtype);
}

MaxPoolLoops FindMaxPoolLoops(DType dtype) {
  return ForMachine(sse2::MaxPoolLoopsFor, avx2::MaxPoolLoopsFor,
                    avx512::MaxPoolLoopsFor)(dtype);
}

}  // namespace proa::inline v0::ops
