// The choice among functions that are compiled once for each instruction set
// (bazel/isa.bzl) and are no kernels of ops, which the registry chooses.
#ifndef PROA_OPS_FOR_MACHINE_H_
#define PROA_OPS_FOR_MACHINE_H_

#include "ops/kernel.h"

namespace proa::inline v0::ops {

// The one for this machine. `ForMachine(sse2::Sum, avx2::Sum, avx512::Sum)(x)`
template <typename Function>
Function* ForMachine(Function* on_sse2, Function* on_avx2,
                     Function* on_avx512) {
  switch (MachineIsa()) {
    case Isa::kAvx512:
      return on_avx512;
    case Isa::kAvx2:
      return on_avx2;
    default:
      return on_sse2;
  }
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_FOR_MACHINE_H_
