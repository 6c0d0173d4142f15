// Matrix products on one thread, compiled for each instruction set: loops for
// tiny and integer matrices, Eigen for float64 and complex.
#ifndef PROA_OPS_LINALG_GEMM_LOOPS_H_
#define PROA_OPS_LINALG_GEMM_LOOPS_H_

#include <cstdint>

#include "tensor/dtype.h"

namespace proa::inline v0::ops {

// C[m, n] (dense rows of length n) = A[m, k] B[k, n] (+ bias[n], may be null).
struct GemmPanel {
  int64_t m, n, k;
  const void* a;
  int64_t a_row, a_column;
  const void* b;
  int64_t b_row, b_column;
  const void* bias;
  void* c;
};

using GemmPanelFunction = void (*)(const GemmPanel&);

// Of the instruction set of this machine; null where a dtype has none (bool,
// float16, bfloat16).
GemmPanelFunction FindGemmPanel(DType dtype);

#define PROA_DECLARE_GEMM_LOOPS(isa)           \
  namespace isa {                              \
  GemmPanelFunction GemmPanelFor(DType dtype); \
  int AskEigenForCaches();                     \
  }
PROA_DECLARE_GEMM_LOOPS(sse2)
PROA_DECLARE_GEMM_LOOPS(avx2)
PROA_DECLARE_GEMM_LOOPS(avx512)
#undef PROA_DECLARE_GEMM_LOOPS

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_LOOPS_H_
