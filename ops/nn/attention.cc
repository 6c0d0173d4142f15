// Gradients of the gradient of attention, as formulas over ops. Here matrices
// of all heads exist as a whole: [N, heads, L, S].
//
// With s = scale, S = s Q K^T + mask, P = softmax(S), G = grad_out:
//   dP = G V^T,  dS = P (dP - r) with r = rowsum(P dP),
//   dQ = s dS K,  dK = s dS^T Q,  dV = P^T G.
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/front_door.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/nn/attention_ops.h"
#include "ops/nn/softmax_ops.h"
#include "ops/reduction/sum_ops.h"

namespace proa::inline v0::ops {
namespace {

// [N, L, heads, D] as [N, heads, L, D], and back.
Tensor ByHead(const Tensor& t) {
  const int64_t order[] = {0, 2, 1, 3};
  return transpose(t, order);
}

Tensor RowSum(const Tensor& t) {
  const int64_t last[] = {-1};
  return sum(t, last, std::nullopt, true);
}

Tensor Scaled(const Tensor& t, double by) { return scale(t, Scalar(by)); }

// The weights, and what the gradient makes of them.
struct Parts {
  Tensor q, k, v, g;    // [N, heads, ...]
  Tensor p, dp, r, ds;  // [N, heads, L, S]; r is [N, heads, L, 1]
};

Parts PartsOf(const Tensor& grad_out, const Tensor& query, const Tensor& key,
              const Tensor& value, const Tensor& mask, double scale) {
  Parts a{ByHead(query),
          ByHead(key),
          ByHead(value),
          ByHead(grad_out),
          {},
          {},
          {},
          {}};
  Tensor scores = Scaled(matmul(a.q, a.k, false, true), scale);
  if (mask.defined()) scores = add(scores, mask);
  a.p = softmax(scores, -1);
  a.dp = matmul(a.g, a.v, false, true);
  a.r = RowSum(multiply(a.p, a.dp));
  a.ds = multiply(a.p, subtract(a.dp, a.r));
  return a;
}

}  // namespace

Tensor AttentionMaskGrad(const Tensor& grad_out, const Tensor& query,
                         const Tensor& key, const Tensor& value,
                         const Tensor& mask, double scale) {
  return sum_to(PartsOf(grad_out, query, key, value, mask, scale).ds,
                ShapeOf(mask));
}

// With A, B, C the gradients of dQ, dK, dV: that of dS is E = s (A K^T + Q
// B^T); with t = rowsum(E P) those of dP and of P are P (E - t) and E (dP - r)
// - t dP + G C^T, from which that of S follows by softmax.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> AttentionGradGrad(
    const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value,
    const Tensor& grad_out, const Tensor& query, const Tensor& key,
    const Tensor& value, const Tensor& mask, double scale) {
  const Parts x = PartsOf(grad_out, query, key, value, mask, scale);
  const Tensor a = ByHead(grad_query), b = ByHead(grad_key),
               c = ByHead(grad_value);
  const Tensor e = Scaled(
      add(matmul(a, x.k, false, true), matmul(x.q, b, false, true)), scale);
  const Tensor t = RowSum(multiply(e, x.p));
  const Tensor by_dp = multiply(x.p, subtract(e, t));
  const Tensor by_p =
      add(subtract(multiply(e, subtract(x.dp, x.r)), multiply(t, x.dp)),
          matmul(x.g, c, false, true));
  const Tensor by_s =
      multiply(x.p, subtract(by_p, RowSum(multiply(x.p, by_p))));
  const Tensor of_g = add(matmul(x.p, c), matmul(by_dp, x.v));
  const Tensor of_q = Scaled(add(matmul(x.ds, b), matmul(by_s, x.k)), scale);
  const Tensor of_k =
      Scaled(add(matmul(x.ds, a, true), matmul(by_s, x.q, true)), scale);
  const Tensor of_v = matmul(by_dp, x.g, true);
  return {ByHead(of_g), ByHead(of_q), ByHead(of_k), ByHead(of_v), by_s};
}

}  // namespace proa::inline v0::ops
