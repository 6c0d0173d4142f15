// What is taken of LAPACK (third_party/lapack), on one thread and with products
// of our own (blas_loops.h). Matrices are column-major and dense, have
// elements, and hold numbers: neither NaN nor infinity, unless it is said that
// they may. T is float, double or
// one of their complex types. Results are false where the iteration did not
// converge; an error says when a matrix is too large for indices of 32 bits.
#ifndef PROA_OPS_LINALG_LAPACK_H_
#define PROA_OPS_LINALG_LAPACK_H_

#include <complex>
#include <cstdint>

#include "ops/linalg/real_of.h"

namespace proa::inline v0::ops::lapack {

// Eigenvalues w [n] of a [n, n], which gets lost, and unless it is null
// eigenvectors of length 1, the columns of v [n, n]. (xGEEV)
template <typename T>
bool GeneralEigen(int64_t n, T* a, std::complex<RealOf<T>>* w,
                  std::complex<RealOf<T>>* v);

// Eigenvalues w [n], from the smallest, of the Hermitian matrix of which one
// triangle of a [n, n] is read. a gets the eigenvectors, or gets lost if they
// are not wanted. (xSYEVD, xHEEVD)
template <typename T>
bool HermitianEigen(int64_t n, bool upper, bool vectors, T* a, RealOf<T>* w);

// Singular values s [min(m, n)], from the largest, of a [m, n], which gets
// lost. Unless they are null, u [m, m] and vh [n, n] if `full`, else of min(m,
// n) columns and rows. (xGESDD)
template <typename T>
bool Singular(int64_t m, int64_t n, bool full, T* a, RealOf<T>* s, T* u, T* vh);

// For the rest T is complex; real matrices have loops of their own
// (factor_loops.h).

// L (below the diagonal, which is 1) and U of a [m, n], over it; row i was
// swapped with row swaps[i] - 1 of min(m, n). The first pivot that is 0, from
// 1, or 0 if there is none. NaN and infinity give NaN. (xGETRF2)
template <typename T>
int32_t Lu(int64_t m, int64_t n, T* a, int32_t* swaps);

// U of a [n, n] = U^H U, of the upper triangle and into it; what is below
// stays. The first leading part, from 1, that is not positive definite, or 0;
// one of NaN is not. (xPOTRF2)
template <typename T>
int32_t Cholesky(int64_t n, T* a);

// R of a [m, n] = Q R into its upper triangle, by Householder's reflections;
// unless it is null Q [m, columns], columns >= min(m, n). (xGEQRF, xUNGQR)
template <typename T>
void Qr(int64_t m, int64_t n, int64_t columns, T* a, T* q);

}  // namespace proa::inline v0::ops::lapack

#endif  // PROA_OPS_LINALG_LAPACK_H_
