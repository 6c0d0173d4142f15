// Kernels of matmul and linear.
#include "ops/elementwise/cast_ops.h"
#include "ops/linalg/gemm_cuda.h"
#include "ops/linalg/matmul_kernels.h"
#include "ops/linalg/matmul_problem.h"
#include "tensor/copy.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops::cuda {

void MatMul(const KernelContext& ctx, const Tensor& x, const Tensor& y,
            bool transpose_x, bool transpose_y, Tensor* out) {
  GemmProblem p = MatMulProblem(x, y, transpose_x, transpose_y, *out);
  Gemm(ctx, p);
}

void Linear(const KernelContext& ctx, const Tensor& x, const Tensor& weight,
            const Tensor& bias, Tensor* out) {
  GemmProblem p = LinearProblem(x, weight, *out);
  Tensor dense = bias;
  if (bias.defined()) {
    const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
    if (dense.dtype() != p.dtype) dense = cast(dense, p.dtype);
    dense = Contiguous(dense);
    p.bias = dense.raw_data();
  }
  Gemm(ctx, p);
}

}  // namespace proa::inline v0::ops::cuda
