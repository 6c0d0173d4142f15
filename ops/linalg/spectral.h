// Eigenvalues and eigenvectors of one matrix, on one thread, with LAPACK, but
// for the eigenvalues alone of real symmetric ones (tridiagonal_loops.h).
// Matrices are dense and row-major, and have elements; NaN gives NaN. All
// functions return false where the iteration did not converge.
// T is float, double or one of their complex types.
#ifndef PROA_OPS_LINALG_SPECTRAL_H_
#define PROA_OPS_LINALG_SPECTRAL_H_

#include <complex>
#include <cstdint>

#include "ops/linalg/orthogonal.h"

namespace proa::inline v0::ops::dense {

// a [n, n] = v diag(w) v^H of the Hermitian matrix whose lower (upper) triangle
// is read, w from the smallest. `v` may be null.
template <typename T>
bool Hermitian(const T* a, int64_t n, bool upper, RealOf<T>* w, T* v);

// a v = v diag(w): w in the order of real, then of imaginary parts, columns of
// v of length 1. `v` may be null.
template <typename T>
bool General(const T* a, int64_t n, std::complex<RealOf<T>>* w,
             std::complex<RealOf<T>>* v);

// The pseudoinverse of a Hermitian matrix (its lower triangle).
template <typename T>
bool HermitianPseudoInverse(const T* a, int64_t n, double rcond, T* out);

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_SPECTRAL_H_
