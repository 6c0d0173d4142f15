// Row-sparse tensors: [N, ...] of which only k rows are held, as `rows` (int64
// [k], in any order; a row that occurs twice counts as the sum of both) and
// `values`
// ([k, ...]). All other rows are zeros. The gradient of a large table has this
// form.
//
//   Tensor g = MakeRowSparse(rows, values, 1'000'000);  // shape [1000000, 64]
//   Tensor d = Contiguous(g);                           // all of its elements
//
// It is a Tensor of Layout::kRowSparse: shape, dtype and place are those of the
// whole, there is no data pointer, and the storage is that of `values`.
#ifndef PROA_TENSOR_ROW_SPARSE_H_
#define PROA_TENSOR_ROW_SPARSE_H_

#include <cstdint>

#include "tensor/tensor.h"

namespace proa::inline v0 {

inline bool IsRowSparse(const Tensor& t) {
  return t.layout() == Layout::kRowSparse;
}

// Shares both parts, which must be strided, in one place, and not symbolic.
// Throws Error unless `rows` is int64 [k], `values` is [k, ...] and contiguous,
// and the rows lie in [0, height) - which is checked on the CPU only, and can
// be undone by writing into `rows`: who uses them as addresses checks them
// again.
Tensor MakeRowSparse(const Tensor& rows, const Tensor& values, int64_t height);

// The parts of a row-sparse tensor.
const Tensor& RowsOf(const Tensor& t);
const Tensor& ValuesOf(const Tensor& t);

// Throws Error kOutOfRange for the first of `rows` (on the CPU) outside of
// [0, height).
void CheckRows(const char* what, const Tensor& rows, int64_t height);

// The same tensor with rows that rise and occur once (`t` itself if it is so),
// on the CPU. Equal rows are added in their order, 16-bit floats in float32:
// the same bits as if they were added into zeros, for any number of threads.
Tensor MergeRows(const Tensor& t);

// All elements of a row-sparse tensor on the CPU, contiguous. Contiguous() and
// CopyTo() call it, for any place.
Tensor RowSparseToDense(const Tensor& t);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_ROW_SPARSE_H_
