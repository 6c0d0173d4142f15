// Linear systems, and gradients of triangular ones, as formulas over ops.
#include "ops/elementwise/complex_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/linalg/solve_ops.h"
#include "ops/manipulation/triangle_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

// Whether y is a batch of vectors for the matrices x: it has all their sizes
// but the last. Sizes that are not known are taken to fit.
bool HoldsVectors(const Tensor& x, const Tensor& y) {
  if (y.rank() == 1) return true;
  if (y.rank() + 1 != x.rank()) return false;
  for (int d = 0; d < y.rank(); ++d) {
    const int64_t a = x.size(d), b = y.size(d);
    if (a != b && !IsUnknown(a) && !IsUnknown(b)) return false;
  }
  return true;
}

}  // namespace

Tensor Solve(const Tensor& x, const Tensor& y) {
  PROA_REQUIRE(y.rank() > 0, "solve: y must be [..., N, K] or [N]; it is ",
               Describe(y), ", x is ", Describe(x));
  if (!HoldsVectors(x, y)) return linear_solve(x, y);
  const int64_t last[] = {-1};
  return squeeze(linear_solve(x, unsqueeze(y, last)), last);
}

Tensor CholeskySolve(const Tensor& x, const Tensor& y, bool upper) {
  // With A = L L^H: L z = x, L^H out = z. With A = U^H U: U^H z = x, U out = z.
  if (upper) {
    return triangular_solve(y, triangular_solve(conj(y), x, true, true, false),
                            true);
  }
  return triangular_solve(conj(y), triangular_solve(y, x, false), false, true,
                          false);
}

// x out = y: d_out = -x^-1 dx out, so that the gradient is -grad_y out^H; with
// x^T the transpose of that of x^T.
Tensor TriangularSolveGradX(const Tensor& grad_y, const Tensor& out,
                            const IntArray& x_shape, bool upper, bool transpose,
                            bool unitriangular) {
  const Tensor full = transpose ? matmul(conj(out), grad_y, false, true)
                                : matmul(grad_y, conj(out), false, true);
  const Tensor summed = neg(sum_to(full, x_shape));
  const int64_t beside = unitriangular ? 1 : 0;
  return upper ? triu(summed, beside) : tril(summed, -beside);
}

}  // namespace proa::inline v0::ops
