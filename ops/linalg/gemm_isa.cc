#include "ops/kernel.h"
#include "ops/linalg/gemm_loops.h"

namespace proa::inline v0::ops {

GemmPanelFunction FindGemmPanel(DType dtype) {
  using Table = GemmPanelFunction (*)(DType);
  static const Table table = [] {
    switch (MachineIsa()) {
      case Isa::kAvx512:
        return avx512::GemmPanelFor;
      case Isa::kAvx2:
        return avx2::GemmPanelFor;
      default:
        return sse2::GemmPanelFor;
    }
  }();
  return table(dtype);
}

}  // namespace proa::inline v0::ops
