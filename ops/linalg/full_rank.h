// Least squares and pseudoinverses (orthogonal.h) of matrices of full rank,
// without their singular values, which would be most of the work.
#ifndef PROA_OPS_LINALG_FULL_RANK_H_
#define PROA_OPS_LINALG_FULL_RANK_H_

#include <cstdint>

namespace proa::inline v0::ops::dense {

// The x [n, k] that makes |a x - b| least and, of several, is the least itself,
// of a [m, n] that is clearly of full rank: all of its singular values are
// above rcond times the largest, and the least is not near 0. False, and
// nothing of meaning in `x`, where that cannot be said, as of NaN. T is float
// or double.
template <typename T>
bool FullRankSolution(const T* a, const T* b, int64_t m, int64_t n, int64_t k,
                      double rcond, T* x);

}  // namespace proa::inline v0::ops::dense

#endif  // PROA_OPS_LINALG_FULL_RANK_H_
