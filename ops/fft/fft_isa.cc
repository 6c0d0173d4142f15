#include "ops/fft/column_loops.h"
#include "ops/for_machine.h"

namespace proa::inline v0::ops::fft {

template <>
const FftLoops<float>& FindFftLoops<float>() {
  return ForMachine(sse2::FloatFftLoops, avx2::FloatFftLoops,
                    avx512::FloatFftLoops)();
}

template <>
const FftLoops<double>& FindFftLoops<double>() {
  return ForMachine(sse2::DoubleFftLoops, avx2::DoubleFftLoops,
                    avx512::DoubleFftLoops)();
}

}  // namespace proa::inline v0::ops::fft
