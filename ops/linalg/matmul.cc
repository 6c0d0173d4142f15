// Gradients of the matrix product, as formulas over ops. Those of 16-bit
// tensors are float32 where `dtype` asks for it.
#include <numeric>
#include <optional>
#include <vector>

#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/complex_ops.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/sum_ops.h"

namespace proa::inline v0::ops {
namespace {

Tensor Conjugate(const Tensor& t) { return IsComplex(t.dtype()) ? conj(t) : t; }

Tensor AddDim(const Tensor& t, int64_t axis) {
  const int64_t axes[] = {axis};
  return unsqueeze(t, axes);
}

// [..., n] as [rows, n].
Tensor Flatten2D(const Tensor& t) {
  if (t.rank() == 1) return AddDim(t, 0);
  return t.rank() == 2 ? t : flatten(t, 0, t.rank() - 2);
}

bool IsLow(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }

Tensor Product(const Tensor& x, const Tensor& y, bool transpose_x,
               bool transpose_y, std::optional<DType> dtype) {
  const bool wide =
      dtype == DType::kFloat32 && IsLow(x.dtype()) && x.dtype() == y.dtype();
  return wide ? matmul_float32(x, y, transpose_x, transpose_y)
              : matmul(x, y, transpose_x, transpose_y);
}

}  // namespace

// With X [..., M, K], Y [..., K, N] and G [..., M, N]: dX = G Y^H, summed over
// the batch dims that X was broadcast along. A 1-D operand is a row or a
// column.
Tensor MatMulGradX(const Tensor& grad_out, const Tensor& y,
                   const IntArray& x_shape, bool transpose_x, bool transpose_y,
                   std::optional<DType> dtype) {
  const int xr = x_shape.size();
  Tensor g = grad_out, right = Conjugate(y);
  if (y.rank() == 1) {
    if (xr == 1) return multiply(g, right);
    g = AddDim(g, -1);
    right = AddDim(right, 1);
    transpose_y = false;
  }
  if (xr == 1) {
    g = AddDim(g, -2);
    transpose_x = false;
  }
  const Tensor out = transpose_x
                         ? Product(right, g, transpose_y, true, dtype)
                         : Product(g, right, false, !transpose_y, dtype);
  return sum_to(out, x_shape);
}

// dY = X^H G.
Tensor MatMulGradY(const Tensor& grad_out, const Tensor& x,
                   const IntArray& y_shape, bool transpose_x, bool transpose_y,
                   std::optional<DType> dtype) {
  const int yr = y_shape.size();
  Tensor g = grad_out, left = Conjugate(x);
  if (x.rank() == 1) {
    if (yr == 1) return multiply(g, left);
    g = AddDim(g, -2);
    left = AddDim(left, 0);
    transpose_x = false;
  }
  if (yr == 1) {
    g = AddDim(g, -1);
    transpose_y = false;
  }
  if (left.rank() > 2 && yr <= 2 && !transpose_x) {
    // One product over all rows instead of a batch of them and a sum.
    left = Flatten2D(left);
    g = Flatten2D(g);
  }
  const Tensor out = transpose_y ? Product(g, left, true, transpose_x, dtype)
                                 : Product(left, g, !transpose_x, false, dtype);
  if (yr == 1) {
    const int64_t last[] = {-1};
    return sum_to(squeeze(out, last), y_shape);
  }
  return sum_to(out, y_shape);
}

Tensor LinearGradX(const Tensor& grad_out, const Tensor& weight,
                   std::optional<DType> dtype) {
  return Product(grad_out, Conjugate(weight), false, true, dtype);
}

Tensor LinearGradWeight(const Tensor& grad_out, const Tensor& x,
                        std::optional<DType> dtype) {
  return Product(Flatten2D(Conjugate(x)), Flatten2D(grad_out), true, false,
                 dtype);
}

Tensor LinearGradBias(const Tensor& grad_out, std::optional<DType> dtype) {
  if (grad_out.rank() <= 1) return grad_out;
  std::vector<int64_t> axes(grad_out.rank() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  return sum(grad_out, axes, dtype.value_or(grad_out.dtype()));
}

}  // namespace proa::inline v0::ops
