#include "ops/linalg/matmul_problem.h"

namespace proa::inline v0::ops {
namespace {

// The last two dims of `t` as a matrix; a 1-D tensor is a row or a column.
GemmOperand MatrixOf(const Tensor& t, bool transpose, bool vector_is_row,
                     const DimVector& batch) {
  const int rank = t.rank();
  const Strides& s = t.strides();
  GemmOperand m;
  m.data = t.raw_data();
  if (rank == 1) {
    m.row_stride = vector_is_row ? 0 : s[0];
    m.column_stride = vector_is_row ? s[0] : 0;
  } else {
    m.row_stride = s[transpose ? rank - 1 : rank - 2];
    m.column_stride = s[transpose ? rank - 2 : rank - 1];
  }
  // Right-aligned with the batch dims of the result; broadcast dims do not
  // move.
  const int own = rank > 2 ? rank - 2 : 0;
  const int missing = static_cast<int>(batch.size()) - own;
  m.batch_strides.resize(batch.size(), 0);
  for (int d = 0; d < own; ++d)
    m.batch_strides[missing + d] = t.size(d) == 1 ? 0 : s[d];
  return m;
}

}  // namespace

GemmProblem MatMulProblem(const Tensor& x, const Tensor& y, bool transpose_x,
                          bool transpose_y, const Tensor& out) {
  const int matrix_dims = (x.rank() > 1) + (y.rank() > 1);
  GemmProblem p;
  p.dtype = x.dtype();
  p.float_result = out.dtype() != x.dtype();
  const auto dims = out.shape().span();
  p.batch.assign(dims.begin(), dims.end() - matrix_dims);
  p.m = x.rank() > 1 ? x.size(x.rank() - (transpose_x ? 1 : 2)) : 1;
  p.n = y.rank() > 1 ? y.size(y.rank() - (transpose_y ? 2 : 1)) : 1;
  p.k = x.rank() > 1 ? x.size(x.rank() - (transpose_x ? 2 : 1)) : x.size(0);
  p.a = MatrixOf(x, transpose_x, /*vector_is_row=*/true, p.batch);
  p.b = MatrixOf(y, transpose_y, /*vector_is_row=*/false, p.batch);
  p.c = out.raw_data();
  if (y.rank() == 2 && !transpose_y) p.weight = &y;
  return p;
}

GemmProblem LinearProblem(const Tensor& x, const Tensor& weight,
                          const Tensor& out) {
  GemmProblem p;
  p.dtype = out.dtype();
  const int rank = x.rank();
  if (rank > 2) p.batch.assign(x.shape().begin(), x.shape().end() - 2);
  p.m = rank > 1 ? x.size(rank - 2) : 1;
  p.n = weight.size(1);
  p.k = weight.size(0);
  p.a = MatrixOf(x, false, /*vector_is_row=*/true, p.batch);
  p.b = MatrixOf(weight, false, false, p.batch);
  p.c = out.raw_data();
  p.weight = &weight;
  return p;
}

}  // namespace proa::inline v0::ops
