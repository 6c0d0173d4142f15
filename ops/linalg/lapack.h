// What is taken of LAPACK (third_party/lapack), on one thread and with products
// of our own (blas_loops.h). Matrices are column-major and dense, have
// elements, and hold numbers: neither NaN nor infinity. T is float, double or
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

}  // namespace proa::inline v0::ops::lapack

#endif  // PROA_OPS_LINALG_LAPACK_H_
