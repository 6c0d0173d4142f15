// Kernels of row-sparse tensors.
#include <numeric>

#include "ops/indexing/rows_kernels.h"
#include "ops/primitives/cpu/gather.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::ops::cpu {
namespace {

// A new handle, which may get a history of its own.
Tensor CopyOfDense(const Tensor& x) { return CopyTo(x, x.place()); }

}  // namespace

void RowSparse(const KernelContext&, const Tensor& rows, const Tensor& values,
               int64_t height, Tensor* out) {
  *out = MakeRowSparse(rows, values, height);
}

void MergeRowsOf(const KernelContext&, const Tensor& x, Tensor* out) {
  *out = IsRowSparse(x) ? MergeRows(x).Alias() : CopyOfDense(x);
}

void ToDense(const KernelContext&, const Tensor& x, Tensor* out) {
  *out = CopyOfDense(x);
}

void HeldRows(const KernelContext&, const Tensor& x, Tensor* out) {
  if (IsRowSparse(x)) {
    *out = RowsOf(x).Alias();
    return;
  }
  *out = Tensor::Empty({x.size(0)}, DType::kInt64);
  std::iota(out->data<int64_t>(), out->data<int64_t>() + out->numel(), 0);
}

void HeldValues(const KernelContext&, const Tensor& x, Tensor* out) {
  *out = IsRowSparse(x) ? ValuesOf(x).Alias() : CopyOfDense(x);
}

void HeldValuesGrad(const KernelContext&, const Tensor& dy, const Tensor& x,
                    Tensor* out) {
  const Shape& values = IsRowSparse(x) ? ValuesOf(x).shape() : x.shape();
  PROA_REQUIRE(dy.shape() == values,
               "held_values_grad: dy does not have the shape of the values of "
               "x, ",
               ToString(values), "; dy is ", Describe(dy));
  if (!IsRowSparse(x)) {
    *out = CopyOfDense(dy);
    return;
  }
  PROA_REQUIRE(RowsOf(MergeRows(x)).numel() == RowsOf(x).numel(),
               "held_values: rows that occur twice have values without a "
               "gradient; take those of merge_rows(x); x is ",
               Describe(x));
  *out = MakeRowSparse(RowsOf(x), dy, x.size(0));
}

void RowSparseAdd(const KernelContext&, const Tensor& x, const Tensor& y) {
  PROA_REQUIRE(x.shape() == y.shape() && x.dtype() == y.dtype(),
               "row_sparse_add_: shapes or dtypes differ; x is ", Describe(x),
               ", y is ", Describe(y));
  PROA_REQUIRE(IsRowSparse(y), "row_sparse_add_: y must be row-sparse; y is ",
               Describe(y));
  PROA_REQUIRE(x.is_contiguous(),
               "row_sparse_add_: x must be contiguous; x is ", Describe(x));
  if (x.numel() == 0) return;
  const IndexList rows("row_sparse_add_", RowsOf(y), x.size(0), 0, false);
  ScatterAddRows(x.dtype(), 1, x.size(0), x.numel() / x.size(0), rows.values(),
                 ValuesOf(y).raw_data(), x.raw_data());
}

}  // namespace proa::inline v0::ops::cpu
