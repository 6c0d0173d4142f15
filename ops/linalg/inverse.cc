// Determinants and their gradients, as formulas over ops.
#include <utility>
#include <vector>

#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/complex_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/linalg/inverse_ops.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/sum_ops.h"

namespace proa::inline v0::ops {
namespace {

// [...] as [..., 1, 1], to multiply matrices with.
Tensor AsMatrices(const Tensor& t) {
  const int64_t last[] = {-1};
  return unsqueeze(unsqueeze(t, last), last);
}

// inverse(x)^H
Tensor AdjointInverse(const Tensor& x) {
  const Tensor inverted = inverse(x);  // says so if x has no matrices
  std::vector<int64_t> perm(x.rank());
  for (int d = 0; d < x.rank(); ++d) perm[d] = d;
  std::swap(perm[x.rank() - 1], perm[x.rank() - 2]);
  return conj(transpose(inverted, perm));
}

}  // namespace

Tensor CofactorGrad(const Tensor& grad_out, const Tensor& x) {
  const int64_t matrix[] = {-2, -1};
  const Tensor t = AdjointInverse(x);
  const Tensor along =
      multiply(sum(multiply(grad_out, t), matrix, std::nullopt, true), t);
  const Tensor across = matmul(matmul(t, grad_out, false, true), t);
  return multiply(AsMatrices(conj(det(x))), subtract(along, across));
}

Tensor SignLogDetGrad(const Tensor& grad_sign, const Tensor& grad_logabsdet,
                      const Tensor& x, const Tensor& sign) {
  Tensor z = grad_logabsdet;
  if (IsComplex(x.dtype())) {
    const Tensor turn = multiply(grad_sign, conj(sign));
    z = add(z, scale(subtract(turn, conj(turn)), Scalar(0.5)));  // i im(turn)
  }
  return multiply(AsMatrices(z), AdjointInverse(x));
}

Tensor SLogDet(const Tensor& x) {
  const auto [sign, logabsdet] = sign_logdet(x);
  const Tensor parts[] = {sign, cast(logabsdet, x.dtype())};
  return stack(parts, 0);
}

}  // namespace proa::inline v0::ops
