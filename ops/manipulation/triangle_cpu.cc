// Kernels of triangles and diagonals of matrices.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/manipulation/slice_range.h"
#include "ops/manipulation/strided_kernels.h"
#include "ops/manipulation/triangle_kernels.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Keeps columns [begin(row), end(row)) of each row of each matrix.
void Triangle(const Tensor& x, int64_t diagonal, bool lower, Tensor* out) {
  if (x.numel() == 0) return;
  const int64_t rows = x.size(x.rank() - 2), cols = x.size(x.rank() - 1);
  const int64_t item_size = ItemSize(x.dtype());
  // Beyond these all or nothing is kept; also keeps the sums below from
  // overflow.
  diagonal = std::clamp(diagonal, -rows - 1, cols + 1);
  const char* from = x.data<char>();
  char* to = out->data<char>();
  const int64_t row_bytes = cols * item_size;
  parallel_for(
      0, x.numel() / cols, std::max<int64_t>(1, kCopyGrainBytes / row_bytes),
      [&](int64_t b, int64_t e) {
        for (int64_t r = b; r < e; ++r) {
          const int64_t i = r % rows;
          const int64_t cut = lower ? i + diagonal + 1 : i + diagonal;
          const int64_t edge = std::clamp<int64_t>(cut, 0, cols) * item_size;
          char* row = to + r * row_bytes;
          const int64_t keep = lower ? 0 : edge;
          const int64_t kept = lower ? edge : row_bytes - edge;
          if (to != from)
            std::memcpy(row + keep, from + r * row_bytes + keep, kept);
          std::memset(lower ? row + edge : row, 0, row_bytes - kept);
        }
      });
}

// Copies x into the diagonal of `out` (or the part of any rank that `axes`
// name).
void SetDiagonal(const Tensor& x, Tensor* out, int64_t offset, int64_t axis1,
                 int64_t axis2) {
  const SlicePart part = ResolveDiagonal("diag", out->shape(), out->strides(),
                                         offset, axis1, axis2);
  CopyElements(x, out->AsStrided(part.shape, part.strides, part.offset));
}

void TakeDiagonal(const Tensor& x, Tensor* out, int64_t offset) {
  const SlicePart part =
      ResolveDiagonal("diag", x.shape(), x.strides(), offset, 0, 1);
  CopyElements(x.AsStrided(part.shape, part.strides, part.offset), *out);
}

}  // namespace

void Tril(const KernelContext&, const Tensor& x, int64_t diagonal,
          Tensor* out) {
  Triangle(x, diagonal, /*lower=*/true, out);
}

void Triu(const KernelContext&, const Tensor& x, int64_t diagonal,
          Tensor* out) {
  Triangle(x, diagonal, /*lower=*/false, out);
}

void Diag(const KernelContext&, const Tensor& x, int64_t offset,
          const Scalar& padding_value, Tensor* out) {
  if (x.rank() == 2) return TakeDiagonal(x, out, offset);
  Fill(*out, padding_value);
  SetDiagonal(x, out, offset, 0, 1);
}

void DiagGrad(const KernelContext&, const Tensor& dy, const IntArray&,
              int64_t offset, Tensor* out) {
  if (out->rank() == 1) return TakeDiagonal(dy, out, offset);
  Zero(*out);
  SetDiagonal(dy, out, offset, 0, 1);
}

void DiagEmbed(const KernelContext&, const Tensor& x, int64_t offset,
               int64_t dim1, int64_t dim2, Tensor* out) {
  Zero(*out);
  SetDiagonal(x, out, offset, dim1, dim2);
}

}  // namespace proa::inline v0::ops::cpu
