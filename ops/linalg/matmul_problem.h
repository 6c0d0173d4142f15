// What matmul and linear ask of Gemm, whoever computes it.
#ifndef PROA_OPS_LINALG_MATMUL_PROBLEM_H_
#define PROA_OPS_LINALG_MATMUL_PROBLEM_H_

#include "ops/linalg/gemm.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// x y, of one dtype, with the last two dims of either swapped first if asked;
// `out` has their dtype or, beside 16-bit ones, float32. Shapes have passed
// inference.
GemmProblem MatMulProblem(const Tensor& x, const Tensor& y, bool transpose_x,
                          bool transpose_y, const Tensor& out);

// x weight, which the problem points to; `bias` is left to the caller.
GemmProblem LinearProblem(const Tensor& x, const Tensor& weight,
                          const Tensor& out);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_MATMUL_PROBLEM_H_
