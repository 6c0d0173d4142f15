// The equations by which divide and conquer finds eigenvalues and singular
// values of a matrix from those of its halves, and the vectors that follow, on
// one thread, compiled for each instruction set.
#ifndef PROA_OPS_LINALG_SECULAR_LOOPS_H_
#define PROA_OPS_LINALG_SECULAR_LOOPS_H_

#include <cstdint>

namespace proa::inline v0::ops {

// `d` [n] increases, no number of `z` [n] is 0, `rho` is positive. False where
// an argument is no number.
template <typename T>
struct SecularLoops {
  // Root i, counted from 0, of
  //   1 / rho + sum of z[j]^2 / (d[j] - x) = 0,
  // which lies between d[i] and d[i + 1], or behind the last. difference[j] is
  // d[j] - x, of which all digits count.
  bool (*eigenvalue)(int64_t n, int64_t i, const T* d, const T* z, T rho,
                     T* difference, T* x);

  // The same of squares of d, which is not negative, and x: difference[j] is
  // d[j] - x, sum[j] is d[j] + x.
  bool (*singular)(int64_t n, int64_t i, const T* d, const T* z, T rho,
                   T* difference, T* sum, T* x);

  // z [n] becomes that of which the roots are exactly those of which
  // differences(i, j), of d[i] and root j, column-major with columns `step`
  // apart, are given; its signs stay. Of squares unless `sums` is null.
  void (*refine)(int64_t n, const T* d, const T* differences, int64_t step,
                 const T* sums, int64_t sums_step, T* z);

  // Columns become the eigenvectors of length 1 that z and these differences
  // have, of which row i is the component order[i], counted from 1.
  void (*vectors)(int64_t n, const T* z, const int32_t* order, T* differences,
                  int64_t step);

  // Columns of differences and sums become the left and right singular vectors
  // of the matrix with first row z and else d, d[0] being 0, on its diagonal.
  void (*singular_vectors)(int64_t n, const T* d, const T* z, T* differences,
                           int64_t step, T* sums, int64_t sums_step);
};

// Of float or double, for the instruction set of this machine.
template <typename T>
const SecularLoops<T>& FindSecularLoops();

#define PROA_DECLARE_SECULAR_LOOPS(isa)        \
  namespace isa {                              \
  const SecularLoops<float>& FloatSecular();   \
  const SecularLoops<double>& DoubleSecular(); \
  }
PROA_DECLARE_SECULAR_LOOPS(sse2)
PROA_DECLARE_SECULAR_LOOPS(avx2)
PROA_DECLARE_SECULAR_LOOPS(avx512)
#undef PROA_DECLARE_SECULAR_LOOPS

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_SECULAR_LOOPS_H_
