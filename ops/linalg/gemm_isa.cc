#include "ops/kernel.h"
#include "ops/linalg/dot_lines.h"
#include "ops/linalg/gemm_loops.h"

namespace proa::inline v0::ops {

GemmPanelFunction FindGemmPanel(DType dtype) {
  switch (MachineIsa()) {
    case Isa::kAvx512:
      return avx512::GemmPanelFor(dtype);
    case Isa::kAvx2:
      return avx2::GemmPanelFor(dtype);
    default:
      return sse2::GemmPanelFor(dtype);
  }
}

DotLinesFunction FindDotLines() {
  switch (MachineIsa()) {
    case Isa::kAvx512:
      return avx512::DotLines;
    case Isa::kAvx2:
      return avx2::DotLines;
    default:
      return sse2::DotLines;
  }
}

namespace {

// At load; tensor/fork_locks.h says why.
[[maybe_unused]] const int asked_at_load = [] {
  switch (MachineIsa()) {
    case Isa::kAvx512:
      return avx512::AskEigenForCaches();
    case Isa::kAvx2:
      return avx2::AskEigenForCaches();
    default:
      return sse2::AskEigenForCaches();
  }
}();

}  // namespace
}  // namespace proa::inline v0::ops
