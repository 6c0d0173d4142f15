#include "ops/for_machine.h"
#include "ops/linalg/factor_loops.h"
#include "ops/linalg/tridiagonal_loops.h"

namespace proa::inline v0::ops {

template <>
const FactorLoops<float>& FindFactorLoops<float>() {
  return ForMachine(sse2::FloatFactorLoops, avx2::FloatFactorLoops,
                    avx512::FloatFactorLoops)();
}

template <>
const FactorLoops<double>& FindFactorLoops<double>() {
  return ForMachine(sse2::DoubleFactorLoops, avx2::DoubleFactorLoops,
                    avx512::DoubleFactorLoops)();
}

template <>
const TridiagonalLoops<float>& FindTridiagonalLoops<float>() {
  return ForMachine(sse2::FloatTridiagonal, avx2::FloatTridiagonal,
                    avx512::FloatTridiagonal)();
}

template <>
const TridiagonalLoops<double>& FindTridiagonalLoops<double>() {
  return ForMachine(sse2::DoubleTridiagonal, avx2::DoubleTridiagonal,
                    avx512::DoubleTridiagonal)();
}

}  // namespace proa::inline v0::ops
