// The first half of the eigenvalues of a symmetric float32 or float64 matrix:
// the tridiagonal one that has the same, on one thread, compiled for each
// instruction set. Vectors are not kept: for those, Eigen.
#ifndef PROA_OPS_LINALG_TRIDIAGONAL_LOOPS_H_
#define PROA_OPS_LINALG_TRIDIAGONAL_LOOPS_H_

#include <cstdint>

namespace proa::inline v0::ops {

template <typename T>
struct TridiagonalLoops {
  // The largest number of the lower triangle of a [n, n], without signs; NaN if
  // one of them is NaN or infinite. Matrices are row-major and dense.
  T (*largest)(const T* a, int64_t n);

  // The diagonal [n] and what is beside it [n - 1] of a tridiagonal matrix with
  // the eigenvalues of scale * a, of which the lower triangle is read. Squares
  // of its numbers, where they are not small beside the largest, must be
  // numbers of T.
  void (*reduce)(const T* a, int64_t n, T scale, T* diagonal, T* beside);
};

// Of float or double, for the instruction set of this machine.
template <typename T>
const TridiagonalLoops<T>& FindTridiagonalLoops();

#define PROA_DECLARE_TRIDIAGONAL_LOOPS(isa)            \
  namespace isa {                                      \
  const TridiagonalLoops<float>& FloatTridiagonal();   \
  const TridiagonalLoops<double>& DoubleTridiagonal(); \
  }
PROA_DECLARE_TRIDIAGONAL_LOOPS(sse2)
PROA_DECLARE_TRIDIAGONAL_LOOPS(avx2)
PROA_DECLARE_TRIDIAGONAL_LOOPS(avx512)
#undef PROA_DECLARE_TRIDIAGONAL_LOOPS

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_TRIDIAGONAL_LOOPS_H_
