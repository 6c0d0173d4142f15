#include "ops/linalg/lapack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "tensor/error.h"

namespace {

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

}  // namespace

// Behind the arguments are the lengths of the strings among them.
extern "C" {
#define PROA_DECLARE(R, T, geev, gesdd)                                    \
  void geev(const char* left, const char* right, const int32_t* n, T* a,   \
            const int32_t* lda, T* w, T* vl, const int32_t* ldvl, T* vr,   \
            const int32_t* ldvr, T* work, const int32_t* lwork, R* rwork,  \
            int32_t* info, size_t, size_t);                                \
  void gesdd(const char* job, const int32_t* m, const int32_t* n, T* a,    \
             const int32_t* lda, R* s, T* u, const int32_t* ldu, T* vt,    \
             const int32_t* ldvt, T* work, const int32_t* lwork, R* rwork, \
             int32_t* iwork, int32_t* info, size_t);
PROA_DECLARE(float, Complex64, proa_lapack_cgeev_, proa_lapack_cgesdd_)
PROA_DECLARE(double, Complex128, proa_lapack_zgeev_, proa_lapack_zgesdd_)
#undef PROA_DECLARE

#define PROA_DECLARE(T, geev, gesdd, syevd)                                \
  void geev(const char* left, const char* right, const int32_t* n, T* a,   \
            const int32_t* lda, T* real, T* imaginary, T* vl,              \
            const int32_t* ldvl, T* vr, const int32_t* ldvr, T* work,      \
            const int32_t* lwork, int32_t* info, size_t, size_t);          \
  void gesdd(const char* job, const int32_t* m, const int32_t* n, T* a,    \
             const int32_t* lda, T* s, T* u, const int32_t* ldu, T* vt,    \
             const int32_t* ldvt, T* work, const int32_t* lwork,           \
             int32_t* iwork, int32_t* info, size_t);                       \
  void syevd(const char* job, const char* uplo, const int32_t* n, T* a,    \
             const int32_t* lda, T* w, T* work, const int32_t* lwork,      \
             int32_t* iwork, const int32_t* liwork, int32_t* info, size_t, \
             size_t);
PROA_DECLARE(float, proa_lapack_sgeev_, proa_lapack_sgesdd_,
             proa_lapack_ssyevd_)
PROA_DECLARE(double, proa_lapack_dgeev_, proa_lapack_dgesdd_,
             proa_lapack_dsyevd_)
#undef PROA_DECLARE

#define PROA_DECLARE(R, T, heevd)                                       \
  void heevd(const char* job, const char* uplo, const int32_t* n, T* a, \
             const int32_t* lda, R* w, T* work, const int32_t* lwork,   \
             R* rwork, const int32_t* lrwork, int32_t* iwork,           \
             const int32_t* liwork, int32_t* info, size_t, size_t);
PROA_DECLARE(float, Complex64, proa_lapack_cheevd_)
PROA_DECLARE(double, Complex128, proa_lapack_zheevd_)
#undef PROA_DECLARE

#define PROA_DECLARE(T, getrf2, potrf2, geqrf, ungqr)                         \
  void getrf2(const int32_t* m, const int32_t* n, T* a, const int32_t* lda,   \
              int32_t* ipiv, int32_t* info);                                  \
  void potrf2(const char* uplo, const int32_t* n, T* a, const int32_t* lda,   \
              int32_t* info, size_t);                                         \
  void geqrf(const int32_t* m, const int32_t* n, T* a, const int32_t* lda,    \
             T* tau, T* work, const int32_t* lwork, int32_t* info);           \
  void ungqr(const int32_t* m, const int32_t* n, const int32_t* k, T* a,      \
             const int32_t* lda, const T* tau, T* work, const int32_t* lwork, \
             int32_t* info);
PROA_DECLARE(Complex64, proa_lapack_cgetrf2_, proa_lapack_cpotrf2_,
             proa_lapack_cgeqrf_, proa_lapack_cungqr_)
PROA_DECLARE(Complex128, proa_lapack_zgetrf2_, proa_lapack_zpotrf2_,
             proa_lapack_zgeqrf_, proa_lapack_zungqr_)
#undef PROA_DECLARE
}  // extern "C"

namespace proa::inline v0::ops::lapack {
namespace {

// The functions of a type.
template <typename T>
struct Names;
template <>
struct Names<float> {
  static constexpr auto* kGeev = proa_lapack_sgeev_;
  static constexpr auto* kGesdd = proa_lapack_sgesdd_;
  static constexpr auto* kHeevd = proa_lapack_ssyevd_;
};
template <>
struct Names<double> {
  static constexpr auto* kGeev = proa_lapack_dgeev_;
  static constexpr auto* kGesdd = proa_lapack_dgesdd_;
  static constexpr auto* kHeevd = proa_lapack_dsyevd_;
};
template <>
struct Names<Complex64> {
  static constexpr auto* kGeev = proa_lapack_cgeev_;
  static constexpr auto* kGesdd = proa_lapack_cgesdd_;
  static constexpr auto* kHeevd = proa_lapack_cheevd_;
  static constexpr auto* kGetrf2 = proa_lapack_cgetrf2_;
  static constexpr auto* kPotrf2 = proa_lapack_cpotrf2_;
  static constexpr auto* kGeqrf = proa_lapack_cgeqrf_;
  static constexpr auto* kUngqr = proa_lapack_cungqr_;
};
template <>
struct Names<Complex128> {
  static constexpr auto* kGeev = proa_lapack_zgeev_;
  static constexpr auto* kGesdd = proa_lapack_zgesdd_;
  static constexpr auto* kHeevd = proa_lapack_zheevd_;
  static constexpr auto* kGetrf2 = proa_lapack_zgetrf2_;
  static constexpr auto* kPotrf2 = proa_lapack_zpotrf2_;
  static constexpr auto* kGeqrf = proa_lapack_zgeqrf_;
  static constexpr auto* kUngqr = proa_lapack_zungqr_;
};

// Columns of a block of reflections, as ilaenv (lapack_symbols.cc) says or
// more.
constexpr int64_t kMostColumns = 32;

template <typename T>
inline constexpr bool kIsReal = std::is_floating_point_v<T>;

// A size as LAPACK takes it.
int32_t Narrow(int64_t size) {
  PROA_REQUIRE(size <= std::numeric_limits<int32_t>::max(),
               "a matrix is too large to be decomposed: it needs workspace of ",
               size, " numbers, more than 2^31 - 1");
  return static_cast<int32_t>(size);
}

// Numbers that LAPACK writes before it reads them. Zeros would take a few
// percent of the time of a matrix of some hundred rows.
template <typename T>
class Workspace {
 public:
  explicit Workspace(int64_t count)
      : size_(Narrow(count)),
        bytes_(std::make_unique_for_overwrite<char[]>(count * sizeof(T))) {}
  T* data() const { return reinterpret_cast<T*>(bytes_.get()); }
  const int32_t& size() const { return size_; }

 private:
  int32_t size_;
  std::unique_ptr<char[]> bytes_;
};

// What was asked for is a number of the type of the matrix; that of float may
// have been rounded down.
template <typename T>
int64_t CountOf(T asked) {
  const double count = std::real(asked);
  return static_cast<int64_t>(count * (1 + 1e-6)) + 1;
}

// An argument that is wrong is a mistake of this file.
bool Converged(const char* name, int32_t info) {
  PROA_REQUIRE(info >= 0, name, ": argument ", -info, " is wrong");
  return info == 0;
}

}  // namespace

template <typename T>
bool GeneralEigen(int64_t n, T* a, std::complex<RealOf<T>>* w,
                  std::complex<RealOf<T>>* v) {
  using R = RealOf<T>;
  using C = std::complex<R>;
  const int32_t size = Narrow(n), one = 1;
  const char* const right = v == nullptr ? "N" : "V";
  const int32_t ldv = v == nullptr ? 1 : size;
  // Two blocks of 32 columns, some vectors, and what xGEHRD keeps of a block.
  const int32_t lwork = Narrow(72 * n + (n > 32 ? 4160 : 0));
  int32_t info = 0;
  std::vector<T> work(lwork);
  if constexpr (kIsReal<T>) {
    std::vector<R> parts(2 * n), vectors(v == nullptr ? 1 : n * n);
    R *const real = parts.data(), *const imaginary = real + n;
    Names<T>::kGeev("N", right, &size, a, &size, real, imaginary, nullptr, &one,
                    vectors.data(), &ldv, work.data(), &lwork, &info, 1, 1);
    if (!Converged("geev", info)) return false;
    for (int64_t j = 0; j < n; ++j) w[j] = C(real[j], imaginary[j]);
    for (int64_t j = 0; v != nullptr && j < n; ++j) {
      const R* const x = vectors.data() + j * n;
      if (imaginary[j] == 0) {
        std::copy_n(x, n, v + j * n);
        continue;
      }
      // Of a pair: real and imaginary parts are columns.
      for (int64_t i = 0; i < n; ++i) {
        v[j * n + i] = C(x[i], x[n + i]);
        v[(j + 1) * n + i] = C(x[i], -x[n + i]);
      }
      ++j;
    }
    return true;
  } else {
    std::vector<R> real_work(2 * n);
    Names<T>::kGeev("N", right, &size, a, &size, w, nullptr, &one, v, &ldv,
                    work.data(), &lwork, real_work.data(), &info, 1, 1);
    return Converged("geev", info);
  }
}

template <typename T>
bool HermitianEigen(int64_t n, bool upper, bool vectors, T* a, RealOf<T>* w) {
  const int32_t size = Narrow(n);
  const char *const job = vectors ? "V" : "N", *const uplo = upper ? "U" : "L";
  int32_t info = 0;
  // What each of them asks for, which depends on n alone, or more.
  const int64_t square = n * n;
  const Workspace<int32_t> integers(vectors ? 3 + 5 * n : 1);
  constexpr int64_t kBlocked = 64;  // numbers of a row for products of blocks
  // Behind the square there is room for blocks of reflections: with what is
  // asked for they would be applied to the vectors one by one, or by threes.
  constexpr int64_t kTriangle = 65 * 64;
  const int64_t by_blocks =
      square + (n <= 32 ? 2 * n : (2 + kBlocked) * n + kTriangle);
  if constexpr (kIsReal<T>) {
    const Workspace<T> work(vectors
                                ? std::max(1 + 6 * n + 2 * square, by_blocks)
                                : std::max(2 * n + 1, kBlocked * n));
    Names<T>::kHeevd(job, uplo, &size, a, &size, w, work.data(), &work.size(),
                     integers.data(), &integers.size(), &info, 1, 1);
  } else {
    const Workspace<T> work(vectors ? by_blocks
                                    : std::max(n + 1, kBlocked * n));
    const Workspace<RealOf<T>> reals(vectors ? 1 + 5 * n + 2 * square
                                             : std::max<int64_t>(1, n));
    Names<T>::kHeevd(job, uplo, &size, a, &size, w, work.data(), &work.size(),
                     reals.data(), &reals.size(), integers.data(),
                     &integers.size(), &info, 1, 1);
  }
  return Converged("heevd", info);
}

template <typename T>
bool Singular(int64_t m, int64_t n, bool full, T* a, RealOf<T>* s, T* u,
              T* vh) {
  const int64_t k = std::min(m, n), most = std::max(m, n);
  const bool vectors = u != nullptr;
  const char* const job = !vectors ? "N" : full ? "A" : "S";
  const int32_t rows = Narrow(m), columns = Narrow(n);
  const int32_t ldvh = vectors ? (full ? columns : static_cast<int32_t>(k)) : 1;
  const Workspace<int32_t> integers(8 * k);
  int32_t info = 0;
  Narrow(4 * k * k + 64 * (k + most));  // else what it asks for overflows
  T asked = 0;
  const Workspace<RealOf<T>> reals(
      kIsReal<T> ? 0
      : vectors  ? std::max(5 * k * k + 5 * k, 2 * most * k + 2 * k * k + k)
                 : 7 * k);
  const auto run = [&](T* work, const int32_t& lwork) {
    if constexpr (kIsReal<T>) {
      Names<T>::kGesdd(job, &rows, &columns, a, &rows, s, u, &rows, vh, &ldvh,
                       work, &lwork, integers.data(), &info, 1);
    } else {
      Names<T>::kGesdd(job, &rows, &columns, a, &rows, s, u, &rows, vh, &ldvh,
                       work, &lwork, reals.data(), integers.data(), &info, 1);
    }
  };
  run(&asked, -1);
  const Workspace<T> work(CountOf(asked));
  run(work.data(), work.size());
  return Converged("gesdd", info);
}

template <typename T>
int32_t Lu(int64_t m, int64_t n, T* a, int32_t* swaps) {
  const int32_t rows = Narrow(m), columns = Narrow(n);
  Narrow(m * n);  // indices are of 32 bits
  int32_t info = 0;
  Names<T>::kGetrf2(&rows, &columns, a, &rows, swaps, &info);
  Converged("getrf2", info);
  return info;
}

template <typename T>
int32_t Cholesky(int64_t n, T* a) {
  const int32_t size = Narrow(n);
  Narrow(n * n);
  int32_t info = 0;
  Names<T>::kPotrf2("U", &size, a, &size, &info, 1);
  Converged("potrf2", info);
  return info;
}

template <typename T>
void Qr(int64_t m, int64_t n, int64_t columns, T* a, T* q) {
  const int32_t rows = Narrow(m), width = Narrow(n), k = std::min(rows, width);
  Narrow(m * std::max(n, columns));
  const std::unique_ptr<T[]> scales(new T[k]);
  const Workspace<T> work(kMostColumns * std::max(n, columns));
  int32_t info = 0;
  Names<T>::kGeqrf(&rows, &width, a, &rows, scales.get(), work.data(),
                   &work.size(), &info);
  Converged("geqrf", info);
  if (q == nullptr) return;
  const int32_t wanted = Narrow(columns);
  std::copy_n(a, m * k, q);
  Names<T>::kUngqr(&rows, &wanted, &k, q, &rows, scales.get(), work.data(),
                   &work.size(), &info);
  Converged("ungqr", info);
}

#define PROA_INSTANTIATE(T)                                          \
  template bool GeneralEigen(int64_t, T*, std::complex<RealOf<T>>*,  \
                             std::complex<RealOf<T>>*);              \
  template bool HermitianEigen(int64_t, bool, bool, T*, RealOf<T>*); \
  template bool Singular(int64_t, int64_t, bool, T*, RealOf<T>*, T*, T*);
PROA_INSTANTIATE(float)
PROA_INSTANTIATE(double)
PROA_INSTANTIATE(Complex64)
PROA_INSTANTIATE(Complex128)
#undef PROA_INSTANTIATE

#define PROA_INSTANTIATE(T)                            \
  template int32_t Lu(int64_t, int64_t, T*, int32_t*); \
  template int32_t Cholesky(int64_t, T*);              \
  template void Qr(int64_t, int64_t, int64_t, T*, T*);
PROA_INSTANTIATE(Complex64)
PROA_INSTANTIATE(Complex128)
#undef PROA_INSTANTIATE

}  // namespace proa::inline v0::ops::lapack
