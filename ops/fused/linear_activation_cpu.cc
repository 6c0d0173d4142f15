// Kernel of a linear layer with residual and activation, compiled once per
// instruction set. oneDNN would compute relu itself, and make 0 of NaN.
#include <string_view>

#include "ops/fused/linear_activation_kernels.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/gemm_then.h"
#include "ops/linalg/matmul_problem.h"
#include "ops/nn/activate.h"
#include "ops/nn/float_copy.h"

namespace proa::inline v0::ops::PROA_ISA {

void LinearActivation(const KernelContext&, const Tensor& x,
                      const Tensor& weight, const Tensor& bias,
                      const Tensor& residual, std::string_view activation,
                      double alpha, double beta, Tensor* out) {
  if (out->numel() == 0) return;
  const Tensor added = FloatCopy(residual, out->dtype());
  const Tensor own_bias = FloatCopy(bias, out->dtype());
  GemmProblem p = LinearProblem(x, weight, *out);
  if (bias.defined()) p.bias = own_bias.raw_data();
  const int64_t columns = p.n;
  const auto part = [&](const Tensor& t, const GemmPart& at) {
    return t.AsStrided({at.rows, at.columns}, {columns, 1},
                       at.row * columns + at.column);
  };
  GemmThen(p, [&](const GemmPart& at) {
    Tensor y = part(*out, at);
    Activate(activation, alpha, beta, y,
             added.defined() ? part(added, at) : Tensor(), &y);
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
