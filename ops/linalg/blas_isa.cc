#include "ops/for_machine.h"
#include "ops/linalg/blas_loops.h"
#include "ops/linalg/secular_loops.h"

namespace proa::inline v0::ops {

template <>
const BlasLoops<float>& FindBlasLoops<float>() {
  return ForMachine(sse2::FloatBlas, avx2::FloatBlas, avx512::FloatBlas)();
}

template <>
const BlasLoops<double>& FindBlasLoops<double>() {
  return ForMachine(sse2::DoubleBlas, avx2::DoubleBlas, avx512::DoubleBlas)();
}

template <>
const BlasLoops<std::complex<float>>& FindBlasLoops<std::complex<float>>() {
  return ForMachine(sse2::Complex64Blas, avx2::Complex64Blas,
                    avx512::Complex64Blas)();
}

template <>
const BlasLoops<std::complex<double>>& FindBlasLoops<std::complex<double>>() {
  return ForMachine(sse2::Complex128Blas, avx2::Complex128Blas,
                    avx512::Complex128Blas)();
}

template <>
const SecularLoops<float>& FindSecularLoops<float>() {
  return ForMachine(sse2::FloatSecular, avx2::FloatSecular,
                    avx512::FloatSecular)();
}

template <>
const SecularLoops<double>& FindSecularLoops<double>() {
  return ForMachine(sse2::DoubleSecular, avx2::DoubleSecular,
                    avx512::DoubleSecular)();
}

}  // namespace proa::inline v0::ops
