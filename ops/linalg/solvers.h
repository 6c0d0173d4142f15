// Triangular factors and linear systems of one matrix, on one thread, with
// Eigen, LAPACK and loops of our own. Matrices are dense and row-major, and
// have elements; a NaN gives NaN. T is float, double or one of their complex
// types.
#ifndef PROA_OPS_LINALG_SOLVERS_H_
#define PROA_OPS_LINALG_SOLVERS_H_

#include <cstdint>

namespace proa::inline v0::ops::dense {

// The factor L of a = L L^H [n, n], of which the lower triangle is read; if
// `upper` U of U^H U, of the upper one. -1, or the first row that is not
// positive definite, and then `out` is undefined.
template <typename T>
int64_t Cholesky(const T* a, int64_t n, bool upper, T* out);

// L (below the diagonal) and U of a [m, n] whose rows are swapped, row i with
// row swaps[i] - 1, for each i < min(m, n) in turn; without `pivot` with
// itself. The first pivot that is 0, from 1, or 0 if there is none.
template <typename T>
int32_t Lu(const T* a, int64_t m, int64_t n, bool pivot, T* out,
           int32_t* swaps);

// a x = b, or a^H x = b if `adjoint`: a [n, n], b and x [n, k]. False if a is
// singular.
template <typename T>
bool Solve(const T* a, const T* b, int64_t n, int64_t k, bool adjoint, T* x);

// The same of a triangle of a, or of its transpose, with ones on its diagonal
// if `unit`. Division by 0 gives inf and NaN.
template <typename T>
void SolveTriangle(const T* a, const T* b, int64_t n, int64_t k, bool upper,
                   bool transpose, bool unit, T* x);

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_SOLVERS_H_
