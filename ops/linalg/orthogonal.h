// Orthogonal factors, singular values and least squares of one matrix, on one
// thread, with Eigen and LAPACK. Matrices are dense and row-major, and have
// elements. T is float, double or one of their complex types.
#ifndef PROA_OPS_LINALG_ORTHOGONAL_H_
#define PROA_OPS_LINALG_ORTHOGONAL_H_

#include <cstdint>

#include "ops/linalg/real_of.h"

namespace proa::inline v0::ops::dense {

using ops::RealOf;

// a [m, n] = q r with q [m, columns] and r [columns, n], by Householder's
// reflections; columns is min(m, n) or m. `q` may be null. The diagonal of r is
// real.
template <typename T>
void Qr(const T* a, int64_t m, int64_t n, int64_t columns, T* q, T* r);

// The x [n, k] that makes |a x - b| least and, of several, is the least: a
// [m, n] of full rank, which is not checked but for zero pivots: false.
template <typename T>
bool FullRankLeastSquares(const T* a, const T* b, int64_t m, int64_t n,
                          int64_t k, T* x);

// The pseudoinverse [n, m] of a [m, n] that is clearly of full rank: all of its
// singular values are above rcond times the largest, and the least is not near
// 0. False, and nothing of meaning in `out`, where that cannot be said, as of
// NaN. T is float or double.
template <typename T>
bool FullRankPseudoInverse(const T* a, int64_t m, int64_t n, double rcond,
                           T* out);

// For the others NaN gives NaN; false where the iteration did not converge.

// a [m, n] = u diag(s) vh, s [min(m, n)] from the largest. u is [m, m] and vh
// [n, n] if `full`, else min(m, n) columns and rows; null if not wanted, both.
// The largest number of each column of u is real and positive.
template <typename T>
bool Svd(const T* a, int64_t m, int64_t n, bool full, T* u, RealOf<T>* s,
         T* vh);

// The pseudoinverse [n, m], with singular values up to rcond times the largest
// taken for 0.
template <typename T>
bool PseudoInverse(const T* a, int64_t m, int64_t n, double rcond, T* out);

// The same times b [m, k]: the least x [n, k] of those that make |a x - b|
// least. `s` gets the singular values unless it is null.
template <typename T>
bool LeastSquares(const T* a, const T* b, int64_t m, int64_t n, int64_t k,
                  double rcond, T* x, RealOf<T>* s, int32_t* rank);

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_ORTHOGONAL_H_
