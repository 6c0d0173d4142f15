// Gemm: C = A B (+ bias) over a batch, the one routine behind matmul, linear
// and the reference convolutions. Operands are raw pointers with any strides; C
// is dense. Chooses between own loops (tiny; float32 with a vector; float64),
// oneDNN (float32, bfloat16) and Eigen or loops (the rest). For kernels; it
// checks no shapes.
#ifndef PROA_OPS_LINALG_GEMM_H_
#define PROA_OPS_LINALG_GEMM_H_

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace proa::inline v0 {
class Tensor;
}  // namespace proa::inline v0

namespace proa::inline v0::ops {

// Element (b, i, j) lies at data + sum(b[d] * batch_strides[d]) + i *
// row_stride + j * column_stride, in elements. Strides may be zero or negative.
struct GemmOperand {
  const void* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  DimVector batch_strides;
};

struct GemmProblem {
  DType dtype = DType::kFloat32;
  int64_t m = 0, n = 0, k = 0;
  DimVector batch;
  GemmOperand a;               // [batch, m, k]
  GemmOperand b;               // [batch, k, n]
  const void* bias = nullptr;  // [n], of ResultType(), or null
  void* c = nullptr;           // [batch, m, n], dense, of ResultType()
  // Beside 16-bit operands C and bias are float32: sums are not rounded.
  bool float_result = false;
  // B as a tensor, or null: one that predicts may be kept in the order in which
  // it is multiplied.
  const Tensor* weight = nullptr;

  DType ResultType() const { return float_result ? DType::kFloat32 : dtype; }
};

// Whether this CPU has instructions for products of bfloat16, which then are
// faster than those of float32.
bool MultipliesBFloat16();

// k == 0 gives zeros (or the bias). Any numeric dtype. The problem is
// simplified in place (batch dims merged).
void Gemm(GemmProblem& problem);

// Merges batch dims where strides allow, and folds them into m where B has
// none.
void SimplifyGemm(GemmProblem& problem);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_H_
