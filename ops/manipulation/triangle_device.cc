// On any device: diagonals of matrices.
#include <cstdint>

#include "ops/manipulation/slice_range.h"
#include "ops/manipulation/triangle_kernels.h"
#include "ops/primitives/device/copy.h"

namespace proa::inline v0::ops::device {
namespace {

// Copies x into the diagonal of `out` (or the part of any rank that `axes`
// name).
void SetDiagonal(const Tensor& x, const Tensor& out, int64_t offset,
                 int64_t axis1, int64_t axis2) {
  const SlicePart part =
      ResolveDiagonal("diag", out.shape(), out.strides(), offset, axis1, axis2);
  Copy(x, out.AsStrided(part.shape, part.strides, part.offset));
}

void TakeDiagonal(const Tensor& x, const Tensor& out, int64_t offset) {
  const SlicePart part =
      ResolveDiagonal("diag", x.shape(), x.strides(), offset, 0, 1);
  Copy(x.AsStrided(part.shape, part.strides, part.offset), out);
}

}  // namespace

void Diag(const KernelContext& ctx, const Tensor& x, int64_t offset,
          const Scalar& padding_value, Tensor* out) {
  if (x.rank() == 2) return TakeDiagonal(x, *out, offset);
  Fill(ctx, *out, padding_value);
  SetDiagonal(x, *out, offset, 0, 1);
}

void DiagGrad(const KernelContext& ctx, const Tensor& dy, const IntArray&,
              int64_t offset, Tensor* out) {
  if (out->rank() == 1) return TakeDiagonal(dy, *out, offset);
  Zero(ctx, *out);
  SetDiagonal(dy, *out, offset, 0, 1);
}

void DiagEmbed(const KernelContext& ctx, const Tensor& x, int64_t offset,
               int64_t dim1, int64_t dim2, Tensor* out) {
  Zero(ctx, *out);
  SetDiagonal(x, *out, offset, dim1, dim2);
}

}  // namespace proa::inline v0::ops::device
