// Products of float64 matrices on one thread, compiled for each instruction
// set.
#ifndef PROA_OPS_LINALG_DOUBLE_PRODUCT_H_
#define PROA_OPS_LINALG_DOUBLE_PRODUCT_H_

#include <cstdint>

namespace proa::inline v0::ops {

// C[m, n] = A[m, k] B[k, n] (+ bias[n], or + C). A and B have any strides, in
// elements; the elements of a row of C lie side by side.
struct DoubleProduct {
  int64_t m = 0, n = 0, k = 0;
  const double* a = nullptr;
  int64_t a_row = 0, a_column = 0;
  const double* b = nullptr;
  int64_t b_row = 0, b_column = 0;
  const double* bias = nullptr;  // or null; not with `accumulate`
  double* c = nullptr;
  int64_t c_row = 0;
  bool accumulate = false;
};

using DoubleProductFunction = void (*)(const DoubleProduct&);

// Of the instruction set of this machine. The bits of an element of C follow
// from its row of A and its column of B alone: C may be computed in any parts.
DoubleProductFunction FindDoubleProduct();

#define PROA_DECLARE_DOUBLE_PRODUCT(isa)        \
  namespace isa {                               \
  void MultiplyDoubles(const DoubleProduct& p); \
  }
PROA_DECLARE_DOUBLE_PRODUCT(sse2)
PROA_DECLARE_DOUBLE_PRODUCT(avx2)
PROA_DECLARE_DOUBLE_PRODUCT(avx512)
#undef PROA_DECLARE_DOUBLE_PRODUCT

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_DOUBLE_PRODUCT_H_
