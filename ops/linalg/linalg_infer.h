// Shape rules of linear algebra (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_LINALG_LINALG_INFER_H_
#define PROA_OPS_LINALG_LINALG_INFER_H_

#include <cstdint>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// NumPy's rule: 1-D operands are a row on the left, a column on the right, and
// that dim is dropped from the result; leading dims broadcast. A transpose flag
// swaps the last two dims and means nothing for a 1-D operand.
Shape matmul(const char* op, const Tensor& x, const Tensor& y, bool transpose_x,
             bool transpose_y);
// [..., in] and [in, out] to [..., out]; `bias` is undefined or [out].
Shape linear(const char* op, const Tensor& x, const Tensor& weight,
             const Tensor& bias);
// The shape of x, which must be [..., N, N].
Shape square(const char* op, const Tensor& x);
// The dims before the last two of such an x.
Shape square_batch(const char* op, const Tensor& x);

// Systems: x [..., N, N] and y [..., N, K] to [..., N, K]; leading dims
// broadcast.
Shape solve(const char* op, const Tensor& x, const Tensor& y);
Shape triangular_solve(const char* op, const Tensor& x, const Tensor& y);
// [..., N, K] of x [..., M, N] and y [..., M, K], and the singular values: none
// ([0]) but for some drivers.
Shape lstsq(const char* op, const Tensor& x, const Tensor& y,
            std::string_view driver);
Shape lstsq_values(const char* op, const Tensor& x, std::string_view driver);

// Decompositions of x [..., M, N], K = min(M, N).
Shape matrix(const char* op, const Tensor& x);          // the same
Shape matrix_batch(const char* op, const Tensor& x);    // [...]
Shape matrix_smaller(const char* op, const Tensor& x);  // [..., K]
Shape lu_permutation(const char* op, const Tensor& pivots, int64_t rows);
Shape qr_q(const char* op, const Tensor& x, std::string_view mode);
Shape qr_r(const char* op, const Tensor& x, std::string_view mode);
Shape svd_u(const char* op, const Tensor& x, bool full_matrices);
Shape svd_vh(const char* op, const Tensor& x, bool full_matrices);
Shape pinv(const char* op, const Tensor& x, const Tensor& rcond,
           bool hermitian);
// Of x [..., N, N]; UPLO is "L" or "U".
Shape eigh(const char* op, const Tensor& x, std::string_view uplo);
Shape eigh_values(const char* op, const Tensor& x, std::string_view uplo);
Shape eig_values(const char* op, const Tensor& x);
// The complex type of a real one.
DType eig_complex(const char* op, const Tensor& x);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_LINALG_LINALG_INFER_H_
