// Operands of a matrix product as oneDNN can read them.
#ifndef PROA_OPS_LINALG_GEMM_OPERANDS_H_
#define PROA_OPS_LINALG_GEMM_OPERANDS_H_

#include <cstdint>

#include "ops/linalg/gemm.h"
#include "tensor/intrusive_ptr.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace proa::inline v0::ops {

// One operand as oneDNN sees it: [batch..., rows, columns].
struct Matrix {
  DimVector dims;
  DimVector strides;
};

// Whether the elements lie side by side, row after row or column after column.
bool IsDense(const GemmOperand& x, int64_t rows, int64_t columns);

// Whether oneDNN can read it where it is: dense along rows or columns. Batch
// strides may not be negative.
bool CanBeReadInPlace(const DimVector& batch, const GemmOperand& x,
                      int64_t rows, int64_t columns);

// Whether one descriptor can say where the matrices of a batch lie. oneDNN
// wants each stride to be as large as all that the smaller ones lead over, gaps
// behind the last row too: [:, ::2] of an odd number of rows has fewer.
bool IsNested(const DimVector& batch, const GemmOperand& x, int64_t rows,
              int64_t columns);

// `x`, which can be read in place.
Matrix InPlace(const DimVector& batch, const GemmOperand& x, int64_t rows,
               int64_t columns);

// Of elements side by side, row after row.
Matrix Dense(DimVector dims);

// A dense copy of the operand, row after row, kept in `buffer`.
GemmOperand ByRows(const DimVector& batch, const GemmOperand& x, int64_t rows,
                   int64_t columns, DType dtype, IntrusivePtr<Storage>& buffer);

// The operand as oneDNN can read it: itself, or a dense copy kept in `buffer`.
GemmOperand Readable(const DimVector& batch, const GemmOperand& x, int64_t rows,
                     int64_t columns, DType dtype,
                     IntrusivePtr<Storage>& buffer);

// A dense copy of 16-bit elements with more rows and columns, of zeros.
GemmOperand Padded(const DimVector& batch, const GemmOperand& x, int64_t rows,
                   int64_t columns, int64_t more_rows, int64_t more_columns,
                   IntrusivePtr<Storage>& buffer);

// Whether B is the weight, all of it, of a program that predicts: its elements
// may be kept in another order (ops/onednn/packed_weights.h).
bool CanBeKept(const GemmProblem& p);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_GEMM_OPERANDS_H_
