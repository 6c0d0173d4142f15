// The functions that LAPACK calls, under the names that it has here
// (third_party/lapack): BLAS, and some of its own that are for us to say. Their
// arguments are Fortran's: pointers, and behind them the lengths of strings,
// which nothing here needs.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "ops/linalg/blas_loops.h"
#include "ops/linalg/numbers.h"

// std::complex is returned as Fortran's is.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif

namespace proa::inline v0::ops {
namespace {

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

using dense::ConjugateOf;
using dense::SizeOf;
using dense::Times;

bool Is(const char* given, char letter) { return (*given | 32) == letter; }

Form FormOf(const char* trans) {
  if (Is(trans, 'n')) return Form::kAsIs;
  return Is(trans, 't') ? Form::kTransposed : Form::kAdjoint;
}

// The first number of a vector: with a negative step it lies last.
template <typename T>
T* FirstOf(T* x, int64_t n, int64_t step) {
  return step < 0 ? x - (n - 1) * step : x;
}

// The numbers of a vector, times a factor perhaps, one after the other.
template <typename T>
class Dense {
 public:
  // Where they are so and there is no factor nothing is copied.
  Dense(int64_t n, const T* x, int64_t step) : n_(n), step_(step) {
    if (step == 1) {
      data_ = const_cast<T*>(x);
    } else {
      Copy(T(1), x);
    }
  }
  Dense(int64_t n, T factor, const T* x, int64_t step) : n_(n), step_(step) {
    if (step == 1 && factor == T(1)) {
      data_ = const_cast<T*>(x);
    } else {
      Copy(factor, x);
    }
  }
  T* data() const { return data_; }
  // Writes what became of them to where they came from.
  void WriteBack(T* x) const {
    if (data_ == x) return;
    x = FirstOf(x, n_, step_);
    for (int64_t i = 0; i < n_; ++i) x[i * step_] = data_[i];
  }

 private:
  void Copy(T factor, const T* x) {
    if (n_ > kNear) far_.reset(new T[n_]);
    data_ = far_ ? far_.get() : reinterpret_cast<T*>(near_);
    x = FirstOf(x, n_, step_);
    if (factor == T(1)) {
      for (int64_t i = 0; i < n_; ++i) data_[i] = x[i * step_];
    } else {
      for (int64_t i = 0; i < n_; ++i) data_[i] = Times(factor, x[i * step_]);
    }
  }

  static constexpr int64_t kNear = 512;
  int64_t n_, step_;
  T* data_;
  std::unique_ptr<T[]> far_;
  alignas(T) unsigned char near_[kNear * sizeof(T)];  // not initialized
};

template <typename T>
void Axpy(int64_t n, T alpha, const T* x, int64_t x_step, T* y,
          int64_t y_step) {
  if (n <= 0 || alpha == T(0)) return;
  if (x_step == 1 && y_step == 1) {
    FindBlasLoops<T>().axpy(n, alpha, x, y);
    return;
  }
  x = FirstOf(x, n, x_step);
  y = FirstOf(y, n, y_step);
  for (int64_t i = 0; i < n; ++i) y[i * y_step] += Times(alpha, x[i * x_step]);
}

template <typename T>
T Dot(int64_t n, const T* x, int64_t x_step, const T* y, int64_t y_step,
      bool conjugate) {
  if (n <= 0) return 0;
  if (x_step == 1 && y_step == 1)
    return FindBlasLoops<T>().dot(n, x, y, conjugate);
  x = FirstOf(x, n, x_step);
  y = FirstOf(y, n, y_step);
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T left = x[i * x_step];
    sum += Times(conjugate ? ConjugateOf(left) : left, y[i * y_step]);
  }
  return sum;
}

template <typename T>
void Copy(int64_t n, const T* x, int64_t x_step, T* y, int64_t y_step) {
  x = FirstOf(x, n, x_step);
  y = FirstOf(y, n, y_step);
  for (int64_t i = 0; i < n; ++i) y[i * y_step] = x[i * x_step];
}

template <typename T>
void Swap(int64_t n, T* x, int64_t x_step, T* y, int64_t y_step) {
  x = FirstOf(x, n, x_step);
  y = FirstOf(y, n, y_step);
  for (int64_t i = 0; i < n; ++i) std::swap(x[i * x_step], y[i * y_step]);
}

template <typename T, typename F>
void Scale(int64_t n, F alpha, T* x, int64_t step) {
  if (n <= 0 || step <= 0) return;
  if (step == 1) {
    FindBlasLoops<T>().scale(n, alpha, x);
    return;
  }
  for (int64_t i = 0; i < n; ++i) x[i * step] = Times(T(alpha), x[i * step]);
}

template <typename T, typename R>
void Rotate(int64_t n, T* x, int64_t x_step, T* y, int64_t y_step, R c, R s) {
  x = FirstOf(x, n, x_step);
  y = FirstOf(y, n, y_step);
  for (int64_t i = 0; i < n; ++i) {
    const T left = x[i * x_step], right = y[i * y_step];
    x[i * x_step] = c * left + s * right;
    y[i * y_step] = c * right - s * left;
  }
}

// The square root of the sum of squares, whose range is that of double.
template <typename T>
double Norm(int64_t n, const T* x, int64_t step) {
  if (n <= 0) return 0;
  const Dense<T> dense(n, x, step);
  constexpr int64_t kFew = 8;
  double squares = 0;
  if (n <= kFew) {
    for (int64_t i = 0; i < n; ++i) {
      const double real = std::real(dense.data()[i]);
      const double imaginary = std::imag(dense.data()[i]);
      squares += real * real + imaginary * imaginary;
    }
  } else {
    squares = FindBlasLoops<T>().squares(n, dense.data());
  }
  constexpr double kLeast = 1e-280, kMost = 1e300;
  if (squares > kLeast && squares < kMost) return std::sqrt(squares);
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double size = std::max(std::abs(double{std::real(dense.data()[i])}),
                                 std::abs(double{std::imag(dense.data()[i])}));
    if (!(size <= largest)) largest = size;
  }
  if (!(largest > 0) || std::isinf(largest)) return largest;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double real = std::real(dense.data()[i]) / largest;
    const double imaginary = std::imag(dense.data()[i]) / largest;
    sum += real * real + imaginary * imaginary;
  }
  return largest * std::sqrt(sum);
}

template <typename T>
auto SumOfSizes(int64_t n, const T* x, int64_t step) {
  decltype(SizeOf(*x)) sum = 0;
  for (int64_t i = 0; i < n && step > 0; ++i) sum += SizeOf(x[i * step]);
  return sum;
}

// From 1, and 0 of no numbers.
template <typename T>
int32_t PlaceOfLargest(int64_t n, const T* x, int64_t step) {
  if (n <= 0 || step <= 0) return 0;
  int64_t best = 0;
  auto most = SizeOf(x[0]);
  for (int64_t i = 1; i < n; ++i) {
    const auto size = SizeOf(x[i * step]);
    if (size > most) {
      best = i;
      most = size;
    }
  }
  return static_cast<int32_t>(best + 1);
}

template <typename T>
void ScaleByBeta(int64_t n, T beta, T* y, int64_t step) {
  if (beta == T(1)) return;
  y = FirstOf(y, n, step);
  for (int64_t i = 0; i < n; ++i)
    y[i * step] = beta == T(0) ? T(0) : Times(beta, y[i * step]);
}

template <typename T>
void Gemv(Form form, int64_t m, int64_t n, T alpha, const T* a, int64_t lda,
          const T* x, int64_t x_step, T beta, T* y, int64_t y_step) {
  if (m <= 0 || n <= 0) return;
  const bool as_is = form == Form::kAsIs;
  ScaleByBeta(as_is ? m : n, beta, y, y_step);
  if (alpha == T(0)) return;
  const Dense<T> to(as_is ? m : n, y, y_step);
  if (as_is) {
    const Dense<T> with(n, alpha, x, x_step);
    FindBlasLoops<T>().gemv(m, n, a, lda, with.data(), to.data());
  } else {
    const Dense<T> with(m, x, x_step);
    FindBlasLoops<T>().gemv_turned(m, n, alpha, a, lda, with.data(),
                                   form == Form::kAdjoint, to.data());
  }
  to.WriteBack(y);
}

// a += alpha x y^H
template <typename T>
void Ger(int64_t m, int64_t n, T alpha, const T* x, int64_t x_step, const T* y,
         int64_t y_step, T* a, int64_t lda) {
  if (m <= 0 || n <= 0 || alpha == T(0)) return;
  const Dense<T> column(m, x, x_step);
  y = FirstOf(y, n, y_step);
  const BlasLoops<T>& loops = FindBlasLoops<T>();
  constexpr int64_t kTogether = 32;  // columns
  T factors[kTogether];
  for (int64_t j = 0; j < n; j += kTogether) {
    const int64_t count = std::min(kTogether, n - j);
    for (int64_t c = 0; c < count; ++c)
      factors[c] = Times(alpha, ConjugateOf(y[(j + c) * y_step]));
    loops.ger(m, count, column.data(), factors, a + j * lda, lda);
  }
}

// x = form(a) x, of a triangle; or x = form(a)^-1 x.
template <typename T>
void Trmv(bool upper, Form form, bool unit, int64_t n, const T* a, int64_t lda,
          T* x, int64_t step) {
  const Dense<T> dense(n, x, step);
  T* const v = dense.data();
  const bool conjugate = form == Form::kAdjoint;
  const BlasLoops<T>& loops = FindBlasLoops<T>();
  for (int64_t k = 0; k < n; ++k) {
    // Each number is used before it is overwritten.
    const int64_t j = upper == (form == Form::kAsIs) ? k : n - 1 - k;
    const int64_t first = upper ? 0 : j + 1, count = upper ? j : n - 1 - j;
    const T* const column = a + j * lda;
    const T pivot = conjugate ? ConjugateOf(column[j]) : column[j];
    if (form == Form::kAsIs) {
      loops.axpy(count, v[j], column + first, v + first);
      if (!unit) v[j] = Times(v[j], pivot);
    } else {
      if (!unit) v[j] = Times(v[j], pivot);
      v[j] += loops.dot(count, column + first, v + first, conjugate);
    }
  }
  dense.WriteBack(x);
}

template <typename T>
void Trsv(bool upper, Form form, bool unit, int64_t n, const T* a, int64_t lda,
          T* x, int64_t step) {
  const Dense<T> dense(n, x, step);
  T* const v = dense.data();
  const bool conjugate = form == Form::kAdjoint;
  const BlasLoops<T>& loops = FindBlasLoops<T>();
  for (int64_t k = 0; k < n; ++k) {
    const int64_t j = upper == (form == Form::kAsIs) ? n - 1 - k : k;
    const int64_t first = upper ? 0 : j + 1, count = upper ? j : n - 1 - j;
    const T* const column = a + j * lda;
    const T pivot = conjugate ? ConjugateOf(column[j]) : column[j];
    if (form == Form::kAsIs) {
      if (!unit) v[j] /= pivot;
      loops.axpy(count, -v[j], column + first, v + first);
    } else {
      v[j] -= loops.dot(count, column + first, v + first, conjugate);
      if (!unit) v[j] /= pivot;
    }
  }
  dense.WriteBack(x);
}

template <typename T>
void Hemv(bool upper, int64_t n, T alpha, const T* a, int64_t lda, const T* x,
          int64_t x_step, T beta, T* y, int64_t y_step) {
  if (n <= 0) return;
  ScaleByBeta(n, beta, y, y_step);
  if (alpha == T(0)) return;
  const Dense<T> with(n, x, x_step), to(n, y, y_step);
  FindBlasLoops<T>().hemv(upper, n, alpha, a, lda, with.data(), to.data());
  to.WriteBack(y);
}

// a += alpha x y^H + conj(alpha) y x^H
template <typename T>
void Her2(bool upper, int64_t n, T alpha, const T* x, int64_t x_step,
          const T* y, int64_t y_step, T* a, int64_t lda) {
  const Dense<T> left(n, x, x_step), right(n, y, y_step);
  const BlasLoops<T>& loops = FindBlasLoops<T>();
  for (int64_t j = 0; j < n; ++j) {
    const int64_t first = upper ? 0 : j, count = upper ? j + 1 : n - j;
    T* const column = a + j * lda;
    loops.axpy(count, Times(alpha, ConjugateOf(right.data()[j])),
               left.data() + first, column + first);
    loops.axpy(count, ConjugateOf(Times(alpha, left.data()[j])),
               right.data() + first, column + first);
    column[j] = std::real(column[j]);
  }
}

}  // namespace

extern "C" {

#define PROA_LAPACK(name) proa_lapack_##name##_

// What all four types have.
#define PROA_DEFINE(T, axpy, copy, swap, gemv, ger, trmv, hemv, her2,          \
                    the_gemm, the_trmm, amax)                                  \
  void PROA_LAPACK(axpy)(const int32_t* n, const T* alpha, const T* x,         \
                         const int32_t* incx, T* y, const int32_t* incy) {     \
    Axpy(*n, *alpha, x, *incx, y, *incy);                                      \
  }                                                                            \
  void PROA_LAPACK(copy)(const int32_t* n, const T* x, const int32_t* incx,    \
                         T* y, const int32_t* incy) {                          \
    Copy(*n, x, *incx, y, *incy);                                              \
  }                                                                            \
  void PROA_LAPACK(swap)(const int32_t* n, T* x, const int32_t* incx, T* y,    \
                         const int32_t* incy) {                                \
    Swap(*n, x, *incx, y, *incy);                                              \
  }                                                                            \
  void PROA_LAPACK(gemv)(const char* trans, const int32_t* m,                  \
                         const int32_t* n, const T* alpha, const T* a,         \
                         const int32_t* lda, const T* x, const int32_t* incx,  \
                         const T* beta, T* y, const int32_t* incy) {           \
    Gemv(FormOf(trans), *m, *n, *alpha, a, *lda, x, *incx, *beta, y, *incy);   \
  }                                                                            \
  void PROA_LAPACK(ger)(const int32_t* m, const int32_t* n, const T* alpha,    \
                        const T* x, const int32_t* incx, const T* y,           \
                        const int32_t* incy, T* a, const int32_t* lda) {       \
    Ger(*m, *n, *alpha, x, *incx, y, *incy, a, *lda);                          \
  }                                                                            \
  void PROA_LAPACK(trmv)(const char* uplo, const char* trans,                  \
                         const char* diag, const int32_t* n, const T* a,       \
                         const int32_t* lda, T* x, const int32_t* incx) {      \
    Trmv(Is(uplo, 'u'), FormOf(trans), Is(diag, 'u'), *n, a, *lda, x, *incx);  \
  }                                                                            \
  void PROA_LAPACK(hemv)(const char* uplo, const int32_t* n, const T* alpha,   \
                         const T* a, const int32_t* lda, const T* x,           \
                         const int32_t* incx, const T* beta, T* y,             \
                         const int32_t* incy) {                                \
    Hemv(Is(uplo, 'u'), *n, *alpha, a, *lda, x, *incx, *beta, y, *incy);       \
  }                                                                            \
  void PROA_LAPACK(her2)(const char* uplo, const int32_t* n, const T* alpha,   \
                         const T* x, const int32_t* incx, const T* y,          \
                         const int32_t* incy, T* a, const int32_t* lda) {      \
    Her2(Is(uplo, 'u'), *n, *alpha, x, *incx, y, *incy, a, *lda);              \
  }                                                                            \
  void PROA_LAPACK(the_gemm)(                                                  \
      const char* form_a, const char* form_b, const int32_t* m,                \
      const int32_t* n, const int32_t* k, const T* alpha, const T* a,          \
      const int32_t* lda, const T* b, const int32_t* ldb, const T* beta, T* c, \
      const int32_t* ldc) {                                                    \
    FindBlasLoops<T>().gemm(FormOf(form_a), FormOf(form_b), *m, *n, *k,        \
                            *alpha, a, *lda, b, *ldb, *beta, c, *ldc);         \
  }                                                                            \
  void PROA_LAPACK(the_trmm)(                                                  \
      const char* side, const char* uplo, const char* form, const char* diag,  \
      const int32_t* m, const int32_t* n, const T* alpha, const T* a,          \
      const int32_t* lda, T* b, const int32_t* ldb) {                          \
    FindBlasLoops<T>().trmm(Is(side, 'l'), Is(uplo, 'u'), FormOf(form),        \
                            Is(diag, 'u'), *m, *n, *alpha, a, *lda, b, *ldb);  \
  }                                                                            \
  int32_t PROA_LAPACK(amax)(const int32_t* n, const T* x,                      \
                            const int32_t* incx) {                             \
    return PlaceOfLargest(*n, x, *incx);                                       \
  }
PROA_DEFINE(float, saxpy, scopy, sswap, sgemv, sger, strmv, ssymv, ssyr2, sgemm,
            strmm, isamax)
PROA_DEFINE(double, daxpy, dcopy, dswap, dgemv, dger, dtrmv, dsymv, dsyr2,
            dgemm, dtrmm, idamax)
PROA_DEFINE(Complex64, caxpy, ccopy, cswap, cgemv, cgerc, ctrmv, chemv, cher2,
            cgemm, ctrmm, icamax)
PROA_DEFINE(Complex128, zaxpy, zcopy, zswap, zgemv, zgerc, ztrmv, zhemv, zher2,
            zgemm, ztrmm, izamax)
#undef PROA_DEFINE

// Those with real factors, or real results, of a type T whose parts are R's.
#define PROA_DEFINE(R, T, scal, rot, nrm2, the_her2k)                          \
  void PROA_LAPACK(scal)(const int32_t* n, const R* alpha, T* x,               \
                         const int32_t* incx) {                                \
    Scale(*n, *alpha, x, *incx);                                               \
  }                                                                            \
  void PROA_LAPACK(rot)(const int32_t* n, T* x, const int32_t* incx, T* y,     \
                        const int32_t* incy, const R* c, const R* s) {         \
    Rotate(*n, x, *incx, y, *incy, *c, *s);                                    \
  }                                                                            \
  R PROA_LAPACK(nrm2)(const int32_t* n, const T* x, const int32_t* incx) {     \
    return static_cast<R>(Norm(*n, x, *incx));                                 \
  }                                                                            \
  void PROA_LAPACK(the_her2k)(                                                 \
      const char* uplo, const char* trans, const int32_t* n, const int32_t* k, \
      const T* alpha, const T* a, const int32_t* lda, const T* b,              \
      const int32_t* ldb, const R* beta, T* c, const int32_t* ldc) {           \
    FindBlasLoops<T>().her2k(Is(uplo, 'u'), !Is(trans, 'n'), *n, *k, *alpha,   \
                             a, *lda, b, *ldb, *beta, c, *ldc);                \
  }
PROA_DEFINE(float, float, sscal, srot, snrm2, ssyr2k)
PROA_DEFINE(double, double, dscal, drot, dnrm2, dsyr2k)
PROA_DEFINE(float, Complex64, csscal, csrot, scnrm2, cher2k)
PROA_DEFINE(double, Complex128, zdscal, zdrot, dznrm2, zher2k)
#undef PROA_DEFINE

#define PROA_DEFINE(T, dot, conjugate)                                  \
  T PROA_LAPACK(dot)(const int32_t* n, const T* x, const int32_t* incx, \
                     const T* y, const int32_t* incy) {                 \
    return Dot(*n, x, *incx, y, *incy, conjugate);                      \
  }
PROA_DEFINE(float, sdot, false)
PROA_DEFINE(double, ddot, false)
PROA_DEFINE(Complex64, cdotu, false)
PROA_DEFINE(Complex64, cdotc, true)
PROA_DEFINE(Complex128, zdotu, false)
PROA_DEFINE(Complex128, zdotc, true)
#undef PROA_DEFINE

#define PROA_DEFINE(R, T, scal, asum, trsv, the_trsm, the_herk)                \
  void PROA_LAPACK(the_trsm)(                                                  \
      const char* side, const char* uplo, const char* form, const char* diag,  \
      const int32_t* m, const int32_t* n, const T* alpha, const T* a,          \
      const int32_t* lda, T* b, const int32_t* ldb) {                          \
    FindBlasLoops<T>().trsm(Is(side, 'l'), Is(uplo, 'u'), FormOf(form),        \
                            Is(diag, 'u'), *m, *n, *alpha, a, *lda, b, *ldb);  \
  }                                                                            \
  void PROA_LAPACK(the_herk)(const char* uplo, const char* trans,              \
                             const int32_t* n, const int32_t* k,               \
                             const R* alpha, const T* a, const int32_t* lda,   \
                             const R* beta, T* c, const int32_t* ldc) {        \
    FindBlasLoops<T>().herk(Is(uplo, 'u'), !Is(trans, 'n'), *n, *k, *alpha, a, \
                            *lda, *beta, c, *ldc);                             \
  }                                                                            \
  void PROA_LAPACK(scal)(const int32_t* n, const T* alpha, T* x,               \
                         const int32_t* incx) {                                \
    Scale(*n, *alpha, x, *incx);                                               \
  }                                                                            \
  R PROA_LAPACK(asum)(const int32_t* n, const T* x, const int32_t* incx) {     \
    return SumOfSizes(*n, x, *incx);                                           \
  }                                                                            \
  void PROA_LAPACK(trsv)(const char* uplo, const char* trans,                  \
                         const char* diag, const int32_t* n, const T* a,       \
                         const int32_t* lda, T* x, const int32_t* incx) {      \
    Trsv(Is(uplo, 'u'), FormOf(trans), Is(diag, 'u'), *n, a, *lda, x, *incx);  \
  }
PROA_DEFINE(float, Complex64, cscal, scasum, ctrsv, ctrsm, cherk)
PROA_DEFINE(double, Complex128, zscal, dzasum, ztrsv, ztrsm, zherk)
#undef PROA_DEFINE

// Whether two letters are one but for their case.
int32_t PROA_LAPACK(lsame)(const char* a, const char* b) {
  return Is(a, static_cast<char>(*b | 32));
}

// An argument that is wrong, which the result says as well.
void PROA_LAPACK(xerbla)(const char*, const int32_t*) {}

// Sizes of blocks and the like: question `which` of a function for matrices of
// `size` (or, of the QR iteration, from `low` to `high`). They are the fastest
// of some for random matrices of 64 to 1000 rows: with products as fast as
// these, smaller blocks and windows than LAPACK's own.
int32_t PROA_LAPACK(ilaenv)(const int32_t* which, const char* name, const char*,
                            const int32_t* size, const int32_t* low,
                            const int32_t* high, const int32_t*) {
  const auto iteration = [&](int32_t shifts, int32_t window) {
    return *which == 13 ? window : shifts;
  };
  switch (*which) {
    case 1:  // columns of a block
      return *size < 200 ? 16 : 24;
    case 2:  // the least for which blocks are worth it
      return 2;
    case 3:  // from which size on
      return 16;
    case 9:  // what is left to the QR iteration by divide and conquer
      return 25;
    case 10:  // infinity and NaN work
    case 11:
      return 1;
    case 12:  // up to which size there are two shifts, or one of complex
              // numbers
      return Is(name, 'c') || Is(name, 'z') ? 48 : 75;
    case 13:    // the window in which eigenvalues are looked for
    case 15: {  // shifts of one pass of the iteration
      const int32_t n = *high - *low + 1;
      if (n < 30) return iteration(2, 2);
      if (n < 60) return iteration(4, 4);
      if (n < 150) return iteration(10, 10);
      if (n < 256) return iteration(16, 16);
      if (n < 600) return iteration(24, 24);
      if (n < 2000) return iteration(24, 32);
      return iteration(64, 96);
    }
    case 14:  // when to do without another pass, in percent
      return 40;
    case 16:  // whether reflections become products
      return 2;
    default:
      return -1;
  }
}

// Fortran's own joining of two strings.
void proa_lapack__gfortran_concat_string(size_t length, char* to,
                                         size_t first_length, const char* first,
                                         size_t second_length,
                                         const char* second) {
  const size_t head = std::min(length, first_length);
  const size_t tail = std::min(length - head, second_length);
  std::memcpy(to, first, head);
  std::memcpy(to + head, second, tail);
  std::memset(to + head + tail, ' ', length - head - tail);
}

#undef PROA_LAPACK

}  // extern "C"

}  // namespace proa::inline v0::ops
