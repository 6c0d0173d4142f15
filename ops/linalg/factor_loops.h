// Factors and triangular systems of one float32 or float64 matrix, by blocks
// and on one thread, compiled for each instruction set. Matrices are row-major,
// dense unless a stride is given, and have elements; results are written over
// them. For matrices of some blocks: small ones go through Eigen faster.
#ifndef PROA_OPS_LINALG_FACTOR_LOOPS_H_
#define PROA_OPS_LINALG_FACTOR_LOOPS_H_

#include <cstdint>

namespace proa::inline v0::ops {

// Element (i, j) of a triangle of a matrix [n, n] is at data + i * row + j *
// column. Its diagonal is taken for ones if `unit`.
template <typename T>
struct Triangle {
  const T* data;
  int64_t row, column;
  bool upper, unit;
};

template <typename T>
struct FactorLoops {
  // U of a [n, n] = U^T U, of the upper triangle and into it. -1, or the first
  // row that is not positive definite. NaN gives NaN.
  int64_t (*cholesky)(T* a, int64_t n);

  // L (below the diagonal, which is 1) and U of a [m, n], whose rows are
  // swapped, row i with row swaps[i], for each i < min(m, n) in turn. The first
  // pivot that is 0, from 1, or 0 if there is none.
  int32_t (*lu)(T* a, int64_t m, int64_t n, int32_t* swaps);

  // x [n, k] = t^-1 x. Division by 0 gives inf and NaN.
  void (*solve)(const Triangle<T>& t, int64_t n, T* x, int64_t k);

  // R of a [m, n] = Q R into its upper triangle, by Householder's reflections;
  // of what is below it nothing is said. Q [m, columns] unless `q` is null.
  void (*qr)(T* a, int64_t m, int64_t n, int64_t columns, T* q);

  // c [n, n] = the upper triangle of a^T a, of a [m, n].
  void (*gram)(const T* a, int64_t m, int64_t n, T* c);

  // to [n, m] = the transpose of from [m, n].
  void (*transpose)(const T* from, int64_t m, int64_t n, T* to);
};

// Of float or double, for the instruction set of this machine.
template <typename T>
const FactorLoops<T>& FindFactorLoops();

#define PROA_DECLARE_FACTOR_LOOPS(isa)            \
  namespace isa {                                 \
  const FactorLoops<float>& FloatFactorLoops();   \
  const FactorLoops<double>& DoubleFactorLoops(); \
  }
PROA_DECLARE_FACTOR_LOOPS(sse2)
PROA_DECLARE_FACTOR_LOOPS(avx2)
PROA_DECLARE_FACTOR_LOOPS(avx512)
#undef PROA_DECLARE_FACTOR_LOOPS

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_FACTOR_LOOPS_H_
