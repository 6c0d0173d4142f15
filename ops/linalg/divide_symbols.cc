// Of divide and conquer, and of the QR iteration at its end, what takes LAPACK
// long, in place of its own functions (secular_loops.h): what is defined here
// is not taken from its archive.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>

#include "ops/linalg/blas_loops.h"
#include "ops/linalg/real_of.h"
#include "ops/linalg/secular_loops.h"

namespace proa::inline v0::ops {
namespace {

// 1 where there is no root, else 0, as LAPACK says it.
int32_t InfoOf(bool found) { return found ? 0 : 1; }

// Of one or two numbers the differences are wanted as 1, or as the eigenvector.
template <typename T>
void EigenRoot(int32_t n, int32_t i, const T* d, const T* z, T* differences,
               T rho, T* root, int32_t* info) {
  *info = InfoOf(
      FindSecularLoops<T>().eigenvalue(n, i - 1, d, z, rho, differences, root));
  if (n == 1) differences[0] = 1;
  if (n != 2) return;
  const T first = z[0] / differences[0], second = z[1] / differences[1];
  const T length = std::hypot(first, second);
  differences[0] = first / length;
  differences[1] = second / length;
}

template <typename T>
void SingularRoot(int32_t n, int32_t i, const T* d, const T* z, T* differences,
                  T rho, T* root, T* sums, int32_t* info) {
  *info = InfoOf(FindSecularLoops<T>().singular(n, i - 1, d, z, rho,
                                                differences, sums, root));
}

// to [size, k] = half [size, rows] times rows [first, first + rows) of q, of
// all its k columns.
template <typename T>
void Join(int64_t size, int64_t k, const T* half, int64_t first, int64_t rows,
          const T* q, int64_t ldq, T* work, T* to) {
  for (int64_t j = 0; j < k; ++j)
    std::copy_n(q + first + j * ldq, rows, work + j * rows);
  FindBlasLoops<T>().gemm(Form::kAsIs, Form::kAsIs, size, k, rows, T(1), half,
                          size, work, rows, T(0), to, ldq);
}

// Eigenvalues `root` and eigenvectors q [n, k] of two halves, of n1 and n - n1
// rows, that meet: `d` and `z` are those of the equation. `halves` holds what
// is not 0 of the eigenvectors of the first half, whose columns are of types 1
// and 2, and behind it those of the second, of types 2 and 3; `order` takes
// columns in which they are in that order to those of d.
template <typename T>
void JoinHalves(int64_t k, int64_t n, int64_t n1, T* root, T* q, int64_t ldq,
                T rho, const T* d, const T* halves, const int32_t* order,
                const int32_t* types, T* z, T* work, int32_t* info) {
  *info = 0;
  if (k == 0) return;
  const SecularLoops<T>& loops = FindSecularLoops<T>();
  for (int64_t j = 0; j < k; ++j) {
    if (!loops.eigenvalue(k, j, d, z, rho, q + j * ldq, root + j)) {
      *info = 1;
      return;
    }
  }
  loops.refine(k, d, q, ldq, nullptr, 0, z);
  loops.vectors(k, z, order, q, ldq);
  const int64_t upper = types[0] + types[1], lower = types[1] + types[2];
  Join(n - n1, k, halves + n1 * upper, types[0], lower, q, ldq, work, q + n1);
  Join(n1, k, halves, 0, upper, q, ldq, work, q);
}

// Matrices, column-major.
template <typename T>
struct Columns {
  T* data;
  int64_t step;
  T* At(int64_t i, int64_t j) const { return data + i + j * step; }
};

// Rows of `to` are those of `from` in the order, counted from 1, after the
// first, which stays the first.
template <typename T>
void Arrange(int64_t k, const Columns<T>& from, const int32_t* order,
             const Columns<T>& to) {
  for (int64_t j = 0; j < k; ++j) {
    const T* const x = from.At(0, j);
    T* const y = to.At(0, j);
    y[0] = x[0];
    for (int64_t i = 1; i < k; ++i) y[i] = x[order[i] - 1];
  }
}

// The same of singular values, of halves of nl and nr rows with one row
// between them: z is that row, of what the halves make. The first column of
// `left` and row of `right` stand for it; behind it those of types 1 (not 0 in
// the first half alone), 2 (in the second) and 3 (in both).
template <typename T>
void JoinSingularHalves(int64_t nl, int64_t nr, int64_t more, int64_t k,
                        T* root, const Columns<T>& q, const T* d,
                        const Columns<T>& u, const Columns<T>& left,
                        const Columns<T>& vt, const Columns<T>& right,
                        const int32_t* order, const int32_t* types, T* z,
                        int32_t* info) {
  *info = 0;
  const SecularLoops<T>& loops = FindSecularLoops<T>();
  const auto gemm = FindBlasLoops<T>().gemm;
  const int64_t n = nl + nr + 1, m = n + more;
  if (k == 1) {
    root[0] = std::abs(z[0]);
    for (int64_t j = 0; j < m; ++j) *vt.At(0, j) = *right.At(0, j);
    for (int64_t i = 0; i < n; ++i)
      *u.At(i, 0) = z[0] > 0 ? *left.At(i, 0) : -*left.At(i, 0);
    return;
  }
  double squares = 0;
  for (int64_t i = 0; i < k; ++i) squares += static_cast<double>(z[i]) * z[i];
  const T length = static_cast<T>(std::sqrt(squares));
  for (int64_t i = 0; i < k; ++i) z[i] /= length;
  for (int64_t j = 0; j < k; ++j) {
    if (!loops.singular(k, j, d, z, length * length, u.At(0, j), vt.At(0, j),
                        root + j)) {
      *info = 1;
      return;
    }
  }
  loops.refine(k, d, u.data, u.step, vt.data, vt.step, z);
  loops.singular_vectors(k, d, z, u.data, u.step, vt.data, vt.step);

  const int64_t first = types[0], second = types[1], both = types[2];
  const int64_t at_second = 1 + first, at_both = at_second + second;
  Arrange(k, u, order, q);
  // to = left part, times rows of q, added to what is there if `add`.
  const auto product = [&](int64_t row, int64_t rows, int64_t at, int64_t count,
                           bool add) {
    gemm(Form::kAsIs, Form::kAsIs, rows, k, count, T(1), left.At(row, at),
         left.step, q.At(at, 0), q.step, T(add ? 1 : 0), u.At(row, 0), u.step);
  };
  product(0, nl, 1, first, false);
  if (both > 0) product(0, nl, at_both, both, true);
  for (int64_t j = 0; j < k; ++j) *u.At(nl, j) = *q.At(0, j);
  product(nl + 1, nr, at_second, second + both, false);

  Arrange(k, vt, order, q);
  const auto turned = [&](int64_t column, int64_t columns, int64_t at,
                          int64_t count, bool add) {
    gemm(Form::kTransposed, Form::kAsIs, k, columns, count, T(1), q.At(at, 0),
         q.step, right.At(at, column), right.step, T(add ? 1 : 0),
         vt.At(0, column), vt.step);
  };
  turned(0, nl + 1, 0, 1 + first, false);
  if (both > 0) turned(0, nl + 1, at_both, both, true);
  turned(nl + 1, nr + more, 0, 1, false);
  if (second + both > 0)
    turned(nl + 1, nr + more, at_second, second + both, true);
}

// A rotation of each of n - 1 planes of rows or columns of a [m, n]: of
// neighbours, or each with the first, or each with the last.
template <typename T>
void Rotate(bool rows, char planes, bool forward, int64_t m, int64_t n,
            const RealOf<T>* cosine, const RealOf<T>* sine, T* a, int64_t lda) {
  if (rows) std::swap(m, n);
  if (planes == 'v')
    return FindBlasLoops<T>().rotate(rows, forward, m, n, cosine, sine, a, lda);
  const int64_t along = rows ? 1 : lda, across = rows ? lda : 1;
  for (int64_t k = 0; k + 1 < n; ++k) {
    const int64_t j = forward ? k : n - 2 - k;
    T* x = a + (planes == 't' ? 0 : j) * along;
    T* y = a + (planes == 't' ? j + 1 : n - 1) * along;
    for (int64_t i = 0; i < m; ++i, x += across, y += across) {
      const T before = *x;
      *x = cosine[j] * before + sine[j] * *y;
      *y = cosine[j] * *y - sine[j] * before;
    }
  }
}

}  // namespace

extern "C" {

#define PROA_LAPACK(name) proa_lapack_##name##_

#define PROA_DEFINE(T, laed3, laed4, lasd3, lasd4)                             \
  void PROA_LAPACK(laed4)(const int32_t* n, const int32_t* i, const T* d,      \
                          const T* z, T* delta, const T* rho, T* root,         \
                          int32_t* info) {                                     \
    EigenRoot<T>(*n, *i, d, z, delta, *rho, root, info);                       \
  }                                                                            \
  void PROA_LAPACK(lasd4)(const int32_t* n, const int32_t* i, const T* d,      \
                          const T* z, T* delta, const T* rho, T* sigma,        \
                          T* work, int32_t* info) {                            \
    SingularRoot<T>(*n, *i, d, z, delta, *rho, sigma, work, info);             \
  }                                                                            \
  void PROA_LAPACK(laed3)(                                                     \
      const int32_t* k, const int32_t* n, const int32_t* n1, T* d, T* q,       \
      const int32_t* ldq, const T* rho, const T* lambda, const T* q2,          \
      const int32_t* order, const int32_t* types, T* w, T* s, int32_t* info) { \
    JoinHalves<T>(*k, *n, *n1, d, q, *ldq, *rho, lambda, q2, order, types, w,  \
                  s, info);                                                    \
  }                                                                            \
  void PROA_LAPACK(lasd3)(                                                     \
      const int32_t* nl, const int32_t* nr, const int32_t* sqre,               \
      const int32_t* k, T* d, T* q, const int32_t* ldq, const T* dsigma, T* u, \
      const int32_t* ldu, T* u2, const int32_t* ldu2, T* vt,                   \
      const int32_t* ldvt, T* vt2, const int32_t* ldvt2, const int32_t* idxc,  \
      const int32_t* ctot, T* z, int32_t* info) {                              \
    JoinSingularHalves<T>(*nl, *nr, *sqre, *k, d, {q, *ldq}, dsigma,           \
                          {u, *ldu}, {u2, *ldu2}, {vt, *ldvt}, {vt2, *ldvt2},  \
                          idxc, ctot, z, info);                                \
  }
PROA_DEFINE(float, slaed3, slaed4, slasd3, slasd4)
PROA_DEFINE(double, dlaed3, dlaed4, dlasd3, dlasd4)
#undef PROA_DEFINE

#define PROA_DEFINE(R, T, lasr)                                          \
  void PROA_LAPACK(lasr)(const char* side, const char* pivot,            \
                         const char* direct, const int32_t* m,           \
                         const int32_t* n, const R* c, const R* s, T* a, \
                         const int32_t* lda, size_t, size_t, size_t) {   \
    Rotate<T>((*side | 32) == 'l', static_cast<char>(*pivot | 32),       \
              (*direct | 32) == 'f', *m, *n, c, s, a, *lda);             \
  }
PROA_DEFINE(float, float, slasr)
PROA_DEFINE(double, double, dlasr)
PROA_DEFINE(float, std::complex<float>, clasr)
PROA_DEFINE(double, std::complex<double>, zlasr)
#undef PROA_DEFINE

#undef PROA_LAPACK

}  // extern "C"

}  // namespace proa::inline v0::ops
