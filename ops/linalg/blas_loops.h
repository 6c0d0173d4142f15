// What LAPACK does its work with (BLAS): sums of multiples of vectors and
// products of matrices, on one thread, compiled for each instruction set.
// Matrices are column-major: element (i, j) of a is at a[i + j * lda]. Vectors
// are dense, the callers see to that (lapack_symbols.cc).
#ifndef PROA_OPS_LINALG_BLAS_LOOPS_H_
#define PROA_OPS_LINALG_BLAS_LOOPS_H_

#include <complex>
#include <cstdint>

#include "ops/linalg/real_of.h"

namespace proa::inline v0::ops {

// How a matrix is read.
enum class Form { kAsIs, kTransposed, kAdjoint };

template <typename T>
struct BlasLoops {
  // y[0, n) += alpha x
  void (*axpy)(int64_t n, T alpha, const T* x, T* y);
  // The sum of x[i] y[i], of conj(x[i]) y[i] if `conjugate`.
  T (*dot)(int64_t n, const T* x, const T* y, bool conjugate);

  // x[0, n) *= alpha
  void (*scale)(int64_t n, T alpha, T* x);
  // The sum of the squares of x[0, n), in double.
  double (*squares)(int64_t n, const T* x);

  // y[0, m) += a x, of a [m, n]
  void (*gemv)(int64_t m, int64_t n, const T* a, int64_t lda, const T* x, T* y);
  // y[0, n) += alpha a^T x, or a^H x if `conjugate`.
  void (*gemv_turned)(int64_t m, int64_t n, T alpha, const T* a, int64_t lda,
                      const T* x, bool conjugate, T* y);
  // a [m, n] += x y^T
  void (*ger)(int64_t m, int64_t n, const T* x, const T* y, T* a, int64_t lda);
  // y[0, n) += alpha a x, of a Hermitian matrix, of which one triangle is read.
  void (*hemv)(bool upper, int64_t n, T alpha, const T* a, int64_t lda,
               const T* x, T* y);

  // Rotations of columns j and j + 1 of a [m, n], of all j from the first, or
  // from the last if not `forward`: the one with cosine[j] and sine[j] makes of
  // x and y, that stand beside each other, cosine x + sine y and cosine y -
  // sine x. Or of rows, of a [n, m], if `rows`.
  void (*rotate)(bool rows, bool forward, int64_t m, int64_t n,
                 const RealOf<T>* cosine, const RealOf<T>* sine, T* a,
                 int64_t lda);

  // c[m, n] = alpha form(a) form(b) + beta c, over k; c is not read if beta is
  // 0.
  void (*gemm)(Form form_a, Form form_b, int64_t m, int64_t n, int64_t k,
               T alpha, const T* a, int64_t lda, const T* b, int64_t ldb,
               T beta, T* c, int64_t ldc);
  // b[m, n] = alpha form(a) b, or alpha b form(a) if not `left`, of a triangle
  // a, whose diagonal is taken for ones if `unit`.
  void (*trmm)(bool left, bool upper, Form form, bool unit, int64_t m,
               int64_t n, T alpha, const T* a, int64_t lda, T* b, int64_t ldb);
  // b[m, n] = alpha form(a)^-1 b, or alpha b form(a)^-1 if not `left`, of a
  // triangle a as above. Division by 0 gives inf and NaN.
  void (*trsm)(bool left, bool upper, Form form, bool unit, int64_t m,
               int64_t n, T alpha, const T* a, int64_t lda, T* b, int64_t ldb);
  // One triangle of c [n, n] = alpha a a^H + beta c, of a [n, k]; or of alpha
  // a^H a, of a [k, n], if `turned`. The diagonal becomes real.
  void (*herk)(bool upper, bool turned, int64_t n, int64_t k, RealOf<T> alpha,
               const T* a, int64_t lda, RealOf<T> beta, T* c, int64_t ldc);
  // One triangle of c [n, n] = alpha a b^H + conj(alpha) b a^H + beta c, of a
  // and b [n, k]; or of alpha a^H b + conj(alpha) b^H a, of a and b [k, n], if
  // `turned`. The diagonal stays real.
  void (*her2k)(bool upper, bool turned, int64_t n, int64_t k, T alpha,
                const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* c,
                int64_t ldc);
};

// For the instruction set of this machine; T is float, double or one of their
// complex types.
template <typename T>
const BlasLoops<T>& FindBlasLoops();

#define PROA_DECLARE_BLAS_LOOPS(isa)                       \
  namespace isa {                                          \
  const BlasLoops<float>& FloatBlas();                     \
  const BlasLoops<double>& DoubleBlas();                   \
  const BlasLoops<std::complex<float>>& Complex64Blas();   \
  const BlasLoops<std::complex<double>>& Complex128Blas(); \
  }
PROA_DECLARE_BLAS_LOOPS(sse2)
PROA_DECLARE_BLAS_LOOPS(avx2)
PROA_DECLARE_BLAS_LOOPS(avx512)
#undef PROA_DECLARE_BLAS_LOOPS

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_BLAS_LOOPS_H_
