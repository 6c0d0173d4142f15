// Gradients of decompositions, as formulas over ops: so that they have
// gradients themselves. g_x stands for the gradient of x, H for the conjugate
// transpose.
#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/creation/full_ops.h"
#include "ops/creation/range_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/complex_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/indexing/along_axis_ops.h"
#include "ops/linalg/factor_ops.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/linalg/solve_ops.h"
#include "ops/linalg/spectral_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/triangle_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/arg_ops.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

constexpr int64_t kRows[] = {-2};
constexpr int64_t kColumns[] = {-1};

Tensor Real(const Tensor& t) { return IsComplex(t.dtype()) ? real(t) : t; }

void RequireMatrices(const Tensor& t) {
  PROA_REQUIRE(t.rank() >= 2, "matrices must be [..., M, N]; one is ",
               Describe(t));
}

Tensor Transpose(const Tensor& t) {
  RequireMatrices(t);
  std::vector<int64_t> perm(t.rank());
  for (int d = 0; d < t.rank(); ++d) perm[d] = d;
  std::swap(perm[t.rank() - 1], perm[t.rank() - 2]);
  return transpose(t, perm);
}
Tensor Adjoint(const Tensor& t) { return conj(Transpose(t)); }

Tensor Times(const Tensor& a, const Tensor& b) { return matmul(a, b); }
Tensor AdjointTimes(const Tensor& a, const Tensor& b) {
  return matmul(conj(a), b, true, false);
}
Tensor TimesAdjoint(const Tensor& a, const Tensor& b) {
  return matmul(a, conj(b), false, true);
}

// [..., N] as [..., 1, N], to multiply columns with, and as [..., N, 1].
Tensor AsRow(const Tensor& t) { return unsqueeze(t, kRows); }
Tensor AsColumn(const Tensor& t) { return unsqueeze(t, kColumns); }

Tensor Half(const Tensor& t) { return scale(t, Scalar(0.5)); }
Tensor HermitianPart(const Tensor& t) { return Half(add(t, Adjoint(t))); }
Tensor DiagonalOf(const Tensor& t) { return diagonal(t, 0, -2, -1); }
Tensor DiagonalMatrix(const Tensor& t) { return diag_embed(t); }

// 1 / t, and 0 where t is 0, with gradients that are finite there.
Tensor SafeReciprocal(const Tensor& t) {
  const Tensor infinite =
      full_like(t, Scalar(std::numeric_limits<double>::infinity()));
  const Tensor zero = equal(t, full_like(t, Scalar(0.0)));
  // Complex infinity is no number to divide by.
  if (IsComplex(t.dtype())) {
    const Tensor one = full_like(t, Scalar(1.0));
    return where(zero, full_like(t, Scalar(0.0)),
                 divide(one, where(zero, one, t)));
  }
  return divide(full_like(t, Scalar(1.0)), where(zero, infinite, t));
}

// 1 / (t_j - t_i) in row i, column j; 0 where these are equal.
Tensor ReciprocalDifferences(const Tensor& t) {
  return SafeReciprocal(subtract(AsRow(t), AsColumn(t)));
}

int64_t SizeOf(const char* op, const Tensor& t, int axis) {
  RequireMatrices(t);
  const int64_t size = t.size(t.rank() + axis);
  PROA_REQUIRE(!IsUnknown(size), op,
               ": its gradient needs known sizes of the matrices; one is ",
               Describe(t));
  return size;
}

// Rows (axis -2) or columns (-1) from `begin` to `end`.
Tensor Part(const Tensor& t, int64_t axis, int64_t begin, int64_t end) {
  const int64_t axes[] = {t.rank() + axis}, begins[] = {begin}, ends[] = {end};
  return slice(t, axes, begins, ends);
}
Tensor Columns(const Tensor& t, int64_t begin, int64_t end) {
  return Part(t, -1, begin, end);
}
Tensor RowsOf(const Tensor& t, int64_t begin, int64_t end) {
  return Part(t, -2, begin, end);
}
Tensor Joined(const Tensor& a, const Tensor& b, int64_t axis) {
  const Tensor parts[] = {a, b};
  return concat(parts, axis);
}

// L^-H x, L with or without a diagonal of ones.
Tensor SolveLowerAdjoint(const Tensor& l, const Tensor& x, bool unit) {
  return triangular_solve(conj(l), x, false, true, unit);
}
// x U^-H
Tensor DivideByUpperAdjoint(const Tensor& x, const Tensor& u) {
  return Adjoint(triangular_solve(u, Adjoint(x), true));
}

// The sum over each column of Im(conj(g) v), [..., 1, N].
Tensor Turning(const Tensor& g, const Tensor& v) {
  return imag(sum(multiply(conj(g), v), kRows, std::nullopt, true));
}

// Of columns v that are given up to a factor of length 1, the gradient g with
// respect to those that the kernels give, whose largest number is real, as one
// with respect to columns that turn by nothing (Im(v^H dv) = 0). `turning` is
// what the loss gains where all that belongs to a column turns.
Tensor FixedPhase(const Tensor& g, const Tensor& v, const Tensor& turning) {
  RequireMatrices(v);
  if (v.size(v.rank() - 2) == 0 || v.size(v.rank() - 1) == 0) return g;
  // The largest of the numbers that are exactly real.
  const Tensor zero = full_like(turning, Scalar(0.0));
  const Tensor at =
      argmax(where(equal(imag(v), zero), real(v), zero), -2, true);
  const Tensor largest = real(take_along_axis(v, at, -2));
  return put_along_axis_add(g, at, complex(zero, divide(turning, largest)), -2);
}

Tensor FixedPhase(const Tensor& g, const Tensor& v) {
  return IsComplex(v.dtype()) ? FixedPhase(g, v, Turning(g, v)) : g;
}

// Columns after the first k of q = [q1 q2] span what q1 does not, and are given
// up to a rotation: d_q2 = -q1 d_q1^H q2. So g_q2 adds to g_q1.
struct FirstColumns {
  FirstColumns(const char* op, const Tensor& g, const Tensor& q, int64_t k)
      : grad(g), columns(q) {
    const int64_t all = SizeOf(op, q, -1);
    if (all == k) return;
    columns = Columns(q, 0, k);
    const Tensor rest = Columns(q, k, all), g_rest = Columns(g, k, all);
    grad =
        subtract(Columns(g, 0, k), Times(rest, AdjointTimes(g_rest, columns)));
  }
  Tensor grad, columns;
};

// Of A = Q R with M >= N, R [N, N].
Tensor TallQrGrad(const Tensor& g_q, const Tensor& g_r, const Tensor& q,
                  const Tensor& r) {
  const Tensor m = subtract(TimesAdjoint(g_r, r), AdjointTimes(q, g_q));
  const Tensor above = triu(m, 1);
  const Tensor symmetric =
      add(add(above, Adjoint(above)), DiagonalMatrix(Real(DiagonalOf(m))));
  return DivideByUpperAdjoint(add(g_q, Times(q, symmetric)), r);
}

}  // namespace

// A = L L^H: dA = dL L^H + L dL^H.
Tensor CholeskyGrad(const Tensor& grad_out, const Tensor& out, bool upper) {
  const Tensor l = upper ? Adjoint(out) : out;
  const Tensor g = upper ? Adjoint(grad_out) : grad_out;
  const Tensor m = AdjointTimes(l, g);
  const Tensor f = Half(add(tril(m), tril(m, -1)));
  const Tensor left = SolveLowerAdjoint(l, f, false);
  return HermitianPart(Adjoint(SolveLowerAdjoint(l, Adjoint(left), false)));
}

// P^T A = L U. Of wide A = [A1 A2], A2 = L U2 gives g_A2 = L^-H g_U2 and takes
// its part from g_L; of tall ones [L1; L2] U the same holds for L2.
Tensor LuGrad(const Tensor& grad_out, const Tensor& out, const Tensor& pivots) {
  const int64_t m = SizeOf("lu", out, -2), n = SizeOf("lu", out, -1);
  const int64_t k = std::min(m, n);
  if (k == 0) return full_like(out, Scalar(0.0));
  const Tensor first = RowsOf(Columns(out, 0, k), 0, k);
  const Tensor g_first = RowsOf(Columns(grad_out, 0, k), 0, k);
  const Tensor l = add(tril(first, -1), eye(k, std::nullopt, out.dtype()));
  const Tensor u = triu(first);
  Tensor lower = AdjointTimes(l, tril(g_first, -1));
  Tensor upper = TimesAdjoint(triu(g_first), u);
  if (m < n) {
    const Tensor g_u2 = Columns(grad_out, k, n);
    lower = subtract(lower, TimesAdjoint(g_u2, Columns(out, k, n)));
  } else if (m > n) {
    upper = subtract(upper,
                     AdjointTimes(RowsOf(out, k, m), RowsOf(grad_out, k, m)));
  }
  const Tensor inner = add(tril(lower, -1), triu(upper));
  Tensor g = DivideByUpperAdjoint(SolveLowerAdjoint(l, inner, true), u);
  if (m < n) {
    g = Joined(g, SolveLowerAdjoint(l, Columns(grad_out, k, n), true), -1);
  } else if (m > n) {
    g = Joined(g, DivideByUpperAdjoint(RowsOf(grad_out, k, m), u), -2);
  }
  return Times(lu_permutation(pivots, m, out.dtype()), g);
}

// Of wide A = [A1 A2], A1 = Q R1 and R2 = Q^H A2.
Tensor QrGrad(const Tensor& grad_q, const Tensor& grad_r, const Tensor& x,
              const Tensor& q, const Tensor& r, std::string_view mode) {
  const int64_t m = SizeOf("qr", x, -2), n = SizeOf("qr", x, -1);
  if (m == 0 || n == 0) return full_like(x, Scalar(0.0));
  if (mode == "r") {
    const Tensor thin = std::get<0>(qr(x));
    return QrGrad(full_like(thin, Scalar(0.0)), grad_r, x, thin, r, "reduced");
  }
  if (m < n) {
    const Tensor g_r2 = Columns(grad_r, m, n);
    const Tensor g_q = add(grad_q, TimesAdjoint(Columns(x, m, n), g_r2));
    return Joined(TallQrGrad(g_q, Columns(grad_r, 0, m), q, Columns(r, 0, m)),
                  Times(q, g_r2), -1);
  }
  const FirstColumns first("qr", grad_q, q, n);
  return TallQrGrad(first.grad, RowsOf(grad_r, 0, n), first.columns,
                    RowsOf(r, 0, n));
}

// U^H dA V, with what it leaves out of A where U or V are not square.
Tensor SvdGrad(const Tensor& grad_u, const Tensor& grad_s,
               const Tensor& grad_vh, const Tensor& u, const Tensor& s,
               const Tensor& vh) {
  RequireMatrices(u);
  RequireMatrices(vh);
  PROA_REQUIRE(s.rank() >= 1, "s must be [..., K]; it is ", Describe(s));
  const int64_t m = u.size(u.rank() - 2), n = vh.size(vh.rank() - 1);
  const int64_t k = s.size(s.rank() - 1);
  Tensor g_u = grad_u, g_v = Adjoint(grad_vh), left = u, right = Adjoint(vh);
  // Sizes that are not known belong to what is not full.
  if (u.size(u.rank() - 1) != k || vh.size(vh.rank() - 2) != k) {
    const int64_t known = SizeOf("svd", AsRow(s), -1);
    const FirstColumns first_u("svd", g_u, left, known);
    const FirstColumns first_v("svd", g_v, right, known);
    g_u = first_u.grad;
    left = first_u.columns;
    g_v = first_v.grad;
    right = first_v.columns;
  }
  const bool is_complex = IsComplex(u.dtype());
  if (is_complex) {
    g_u = FixedPhase(g_u, left, add(Turning(g_u, left), Turning(g_v, right)));
  }
  const Tensor inverse_s = SafeReciprocal(s);
  const Tensor apart = ReciprocalDifferences(multiply(s, s));
  const Tensor uu = AdjointTimes(left, g_u), vv = AdjointTimes(right, g_v);
  const Tensor turn_u = multiply(subtract(uu, Adjoint(uu)), apart);
  const Tensor turn_v = multiply(subtract(vv, Adjoint(vv)), apart);
  Tensor on_diagonal = grad_s;
  if (is_complex) {
    on_diagonal = complex(grad_s, multiply(imag(DiagonalOf(uu)), inverse_s));
  }
  const Tensor inner =
      add(add(multiply(turn_u, AsRow(s)), multiply(AsColumn(s), turn_v)),
          DiagonalMatrix(on_diagonal));
  Tensor g = TimesAdjoint(Times(left, inner), right);
  if (IsUnknown(m) || m != k) {
    const Tensor outside = subtract(g_u, Times(left, uu));
    g = add(g, TimesAdjoint(multiply(outside, AsRow(inverse_s)), right));
  }
  if (IsUnknown(n) || n != k) {
    const Tensor outside = subtract(g_v, Times(right, vv));
    g = add(g, TimesAdjoint(multiply(left, AsRow(inverse_s)), outside));
  }
  return g;
}

Tensor SvdValsGrad(const Tensor& grad_out, const Tensor& x) {
  const auto [u, s, vh] = svd(x);
  return Times(multiply(u, AsRow(grad_out)), vh);
}

Tensor EighGrad(const Tensor& grad_values, const Tensor& grad_vectors,
                const Tensor& values, const Tensor& vectors) {
  const Tensor g = FixedPhase(grad_vectors, vectors);
  const Tensor inner =
      add(multiply(AdjointTimes(vectors, g), ReciprocalDifferences(values)),
          DiagonalMatrix(grad_values));
  return HermitianPart(TimesAdjoint(Times(vectors, inner), vectors));
}

Tensor EigValsHGrad(const Tensor& grad_out, const Tensor& x,
                    std::string_view uplo) {
  const Tensor v = std::get<1>(eigh(x, uplo));
  return TimesAdjoint(multiply(v, AsRow(grad_out)), v);
}

// V^-H inner V^H, where the columns of V keep their length.
Tensor EigGrad(const Tensor& grad_values, const Tensor& grad_vectors,
               const Tensor& x, const Tensor& values, const Tensor& vectors) {
  const Tensor g = FixedPhase(grad_vectors, vectors);
  const Tensor m = AdjointTimes(vectors, g);
  const Tensor lengths =
      multiply(AdjointTimes(vectors, vectors), AsRow(real(DiagonalOf(m))));
  const Tensor inner =
      add(multiply(subtract(m, lengths), conj(ReciprocalDifferences(values))),
          DiagonalMatrix(grad_values));
  const Tensor full = linear_solve(vectors, TimesAdjoint(inner, vectors), true);
  return IsComplex(x.dtype()) ? full : real(full);
}

Tensor EigValsGrad(const Tensor& grad_out, const Tensor& x) {
  const Tensor v = std::get<1>(eig(x));
  const Tensor scaled = multiply(AsColumn(grad_out), Adjoint(v));
  const Tensor full = linear_solve(v, scaled, true);
  return IsComplex(x.dtype()) ? full : real(full);
}

// dP = -P dx P + P P^H dx^H (1 - x P) + (1 - P x) dx^H P^H P
Tensor PInvGrad(const Tensor& grad_out, const Tensor& x, const Tensor& out) {
  const Tensor p = Adjoint(out), g = Adjoint(grad_out);
  const Tensor across = Times(Times(p, grad_out), p);
  const Tensor left = Times(g, Times(out, p));
  const Tensor right = Times(Times(p, out), g);
  return add(subtract(subtract(left, Times(x, Times(out, left))), across),
             subtract(right, Times(Times(right, out), x)));
}

namespace {

Tensor PseudoInverse(const Tensor& x, double rcond) {
  if (rcond < 0) {
    const double epsilon = RealType(x.dtype()) == DType::kFloat64
                               ? std::numeric_limits<double>::epsilon()
                               : std::numeric_limits<float>::epsilon();
    rcond = epsilon * static_cast<double>(std::max(SizeOf("lstsq", x, -2),
                                                   SizeOf("lstsq", x, -1)));
  }
  return pinv(x, full(IntArray(), Scalar(rcond), DType::kFloat64, x.place()),
              false);
}

}  // namespace

// solution = pinv(x) y
Tensor LstSqGradX(const Tensor& grad_solution, const Tensor& grad_values,
                  const Tensor& x, const Tensor& y, double rcond,
                  std::string_view driver) {
  const Tensor g =
      PInvGrad(TimesAdjoint(grad_solution, y), x, PseudoInverse(x, rcond));
  if (driver == "gels" || driver == "gelsy") return g;
  return add(g, SvdValsGrad(grad_values, x));
}

Tensor LstSqGradY(const Tensor& grad_solution, const Tensor& x, double rcond,
                  const IntArray& y_shape) {
  return sum_to(AdjointTimes(PseudoInverse(x, rcond), grad_solution), y_shape);
}

}  // namespace proa::inline v0::ops
