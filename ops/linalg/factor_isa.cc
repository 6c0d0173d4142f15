#include "ops/kernel.h"
#include "ops/linalg/factor_loops.h"

namespace proa::inline v0::ops {

template <>
const FactorLoops<float>& FindFactorLoops<float>() {
  switch (MachineIsa()) {
    case Isa::kAvx512:
      return avx512::FloatFactorLoops();
    case Isa::kAvx2:
      return avx2::FloatFactorLoops();
    default:
      return sse2::FloatFactorLoops();
  }
}

template <>
const FactorLoops<double>& FindFactorLoops<double>() {
  switch (MachineIsa()) {
    case Isa::kAvx512:
      return avx512::DoubleFactorLoops();
    case Isa::kAvx2:
      return avx2::DoubleFactorLoops();
    default:
      return sse2::DoubleFactorLoops();
  }
}

}  // namespace proa::inline v0::ops
