// Eigenvalues of a symmetric tridiagonal matrix.
#ifndef PROA_OPS_LINALG_TRIDIAGONAL_H_
#define PROA_OPS_LINALG_TRIDIAGONAL_H_

#include <cstdint>

namespace proa::inline v0::ops::dense {

// Turns the diagonal [n] into the eigenvalues, from the smallest; `beside` [n -
// 1] gets lost. Their squares must be numbers of T, which is float or double.
// False if the iteration does not converge. About 30 n^2 cycles.
template <typename T>
bool TridiagonalValues(T* diagonal, T* beside, int64_t n);

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_TRIDIAGONAL_H_
