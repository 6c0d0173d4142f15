#include "ops/kernel.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_loops.h"

namespace proa::inline v0::ops {
namespace {

// Of three forms of a function, that for the instruction set of this machine.
template <typename Function>
Function* Best(Function* on_sse2, Function* on_avx2, Function* on_avx512) {
  switch (MachineIsa()) {
    case Isa::kAvx512:
      return on_avx512;
    case Isa::kAvx2:
      return on_avx2;
    default:
      return on_sse2;
  }
}

}  // namespace

PoolLoops FindPoolLoops(DType dtype) {
  return Best(sse2::PoolLoopsFor, avx2::PoolLoopsFor,
              avx512::PoolLoopsFor)(dtype);
}

MaxPoolLoops FindMaxPoolLoops(DType dtype) {
  return Best(sse2::MaxPoolLoopsFor, avx2::MaxPoolLoopsFor,
              avx512::MaxPoolLoopsFor)(dtype);
}

}  // namespace proa::inline v0::ops
