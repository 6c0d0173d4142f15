// Row-sparse forms (tensor/row_sparse.h) of the ops that gradients meet on
// their way to a step: sums, factors, casts, limits. Each works on the values
// by calling front doors, so for any device, and returns false where the result
// is not row-sparse. Rows that are not held stay zeros, also under factors that
// are not finite.
#include "tensor/row_sparse.h"

#include <vector>

#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/front_door.h"
#include "ops/indexing/rows_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/shape_ops.h"

namespace proa::inline v0::ops {
namespace {

Tensor WithValues(const Tensor& x, const Tensor& values) {
  return MakeRowSparse(RowsOf(x), values, x.size(0));
}

bool Alike(const Tensor& x, const Tensor& y) {
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         x.place() == y.place();
}

// A factor for all elements of x that does not change its rank.
bool IsFactor(const Tensor& x, const Tensor& y) {
  return !HasRows(y) && y.numel() == 1 && y.rank() <= x.rank();
}

Tensor Join(const Tensor& x, const Tensor& y) {
  const Tensor rows[] = {RowsOf(x), RowsOf(y)};
  const Tensor values[] = {ValuesOf(x), ValuesOf(y)};
  Tensor joined = MakeRowSparse(concat(rows, 0), concat(values, 0), x.size(0));
  // Sums of many gradients: not more rows than there are.
  return RowsOf(joined).numel() > x.size(0) ? merge_rows(joined) : joined;
}

}  // namespace

// The sum of two is both one after the other; beside a dense tensor it is
// dense.
bool AddRowSparse(const Tensor& x, const Tensor& y, Tensor* out) {
  if (!Alike(x, y)) return false;
  if (HasRows(x) && HasRows(y)) {
    *out = Join(x, y);
    return true;
  }
  const Tensor& rows = HasRows(x) ? x : y;
  if (!out->defined()) *out = assign(HasRows(x) ? y : x);
  if (!out->is_contiguous()) return false;
  row_sparse_add_(*out, rows);
  return true;
}

bool MultiplyRowSparse(const Tensor& x, const Tensor& y, Tensor* out) {
  if (out->defined()) return false;  // into a dense tensor
  const Tensor& rows = HasRows(x) ? x : y;
  const Tensor& factor = HasRows(x) ? y : x;
  if (!IsFactor(rows, factor)) return false;
  *out = WithValues(rows, multiply(ValuesOf(rows), factor));
  return true;
}

bool DivideRowSparse(const Tensor& x, const Tensor& y, Tensor* out) {
  if (out->defined() || !HasRows(x) || !IsFactor(x, y)) return false;
  *out = WithValues(x, divide(ValuesOf(x), y));
  return true;
}

bool ScaleRowSparse(const Tensor& x, const Scalar& factor, const Scalar& bias,
                    bool, Tensor* out) {
  if (bias.to<double>() != 0.0) return false;
  *out = WithValues(x, scale(ValuesOf(x), factor));
  return true;
}

// Limits hold for the sum of equal rows, and must leave zeros as they are.
bool ClipRowSparse(const Tensor& x, const std::optional<Scalar>& min,
                   const std::optional<Scalar>& max, Tensor* out) {
  if ((min && !(min->to<double>() <= 0.0)) ||
      (max && !(max->to<double>() >= 0.0))) {
    return false;
  }
  const Tensor merged = merge_rows(x);
  *out = WithValues(merged, clip(ValuesOf(merged), min, max));
  return true;
}

bool CastRowSparse(const Tensor& x, DType dtype, Tensor* out) {
  *out = WithValues(x, cast(ValuesOf(x), dtype));
  return true;
}

bool AssignRowSparse(const Tensor& x, Tensor* out) {
  *out = MakeRowSparse(assign(RowsOf(x)), assign(ValuesOf(x)), x.size(0));
  return true;
}

}  // namespace proa::inline v0::ops
