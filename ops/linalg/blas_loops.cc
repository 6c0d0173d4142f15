#include "ops/linalg/blas_loops.h"

#include <algorithm>

#include "ops/linalg/blas_products.h"
#include "ops/linalg/number_parts.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

template <typename T>
using RealPart = typename PartsOf<T>::Real;

template <typename T>
const RealPart<T>* PartsAt(const T* x) {
  return reinterpret_cast<const RealPart<T>*>(x);
}
template <typename T>
RealPart<T>* PartsAt(T* x) {
  return reinterpret_cast<RealPart<T>*>(x);
}

template <typename T>
typename Parts<RealPart<T>>::Type SwapOf(typename Parts<RealPart<T>>::Type v) {
  if constexpr (kIsComplex<T>) return Parts<RealPart<T>>::Swap(v);
  return v;
}

// A number to multiply vectors with.
template <typename T>
struct Factor {
  using P = Parts<RealPart<T>>;
  using Vector = typename P::Type;
  Factor() = default;
  explicit Factor(T x) {
    if constexpr (kIsComplex<T>) {
      real = P::Fill(x.real());
      imaginary = P::Alternate(x.imag());
    } else {
      real = P::Fill(x);
    }
  }
  // v times this, added to `sum`.
  Vector AddTo(Vector sum, Vector v) const {
    return AddTo(sum, v, SwapOf<T>(v));
  }
  Vector AddTo(Vector sum, Vector v, Vector swapped) const {
    sum = P::MultiplyAdd(v, real, sum);
    if constexpr (kIsComplex<T>) sum = P::MultiplyAdd(swapped, imaginary, sum);
    return sum;
  }
  Vector real;
  Vector imaginary;  // of complex numbers
};

// The sum of products of numbers of two vectors, the first ones conjugate or
// not.
template <typename T>
struct Sum {
  using P = Parts<RealPart<T>>;
  using Vector = typename P::Type;
  // `swapped` is the other one with its parts swapped.
  void Add(Vector a, Vector other, Vector swapped) {
    straight = P::MultiplyAdd(a, other, straight);
    if constexpr (kIsComplex<T>) crossed = P::MultiplyAdd(a, swapped, crossed);
  }
  T Value(bool conjugate) const {
    const auto [even, odd] = P::Sums(straight);
    if constexpr (kIsComplex<T>) {
      const auto [left, right] = P::Sums(crossed);
      return conjugate ? T(even + odd, left - right)
                       : T(even - odd, left + right);
    } else {
      return even + odd;
    }
  }
  Vector straight;
  Vector crossed;  // of complex numbers
};

// Some sums of nothing. One by one: an array that is cleared as memory takes
// longer than sums of short columns.
template <typename T, int C>
struct Sums {
  Sums() {
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      of[c].straight = typename Sum<T>::Vector{};
      of[c].crossed = typename Sum<T>::Vector{};
    }
  }
  Sum<T> of[C];
};

// Columns that are passed over together, of which each has a sum: as many as
// hide how long an addition takes.
template <typename T>
inline constexpr int kColumns = kIsComplex<T> ? 4 : 8;

template <typename T, int C>
void AddColumns(int64_t n, const T* a, int64_t lda, const T* x, T* y) {
  Factor<T> factors[C];
  for (int c = 0; c < C; ++c) factors[c] = Factor<T>(x[c]);
  const RealPart<T>* const from = PartsAt(a);
  RealPart<T>* const to = PartsAt(y);
  const int64_t step = lda * PartsOf<T>::kCount;
  ForParts<T>(n, [&](int64_t i, auto load, auto store) {
    auto sum = load(to + i);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c)
      sum = factors[c].AddTo(sum, load(from + i + c * step));
    store(to + i, sum);
  });
}

template <typename T, int C = kColumns<T>>
void Gemv(int64_t m, int64_t n, const T* a, int64_t lda, const T* x, T* y) {
  int64_t j = 0;
  for (; j + C <= n; j += C) AddColumns<T, C>(m, a + j * lda, lda, x + j, y);
  if constexpr (C > 1) Gemv<T, C / 2>(m, n - j, a + j * lda, lda, x + j, y);
}

template <typename T, int C = kColumns<T>>
void Ger(int64_t m, int64_t n, const T* x, const T* y, T* a, int64_t lda) {
  const RealPart<T>* const from = PartsAt(x);
  const int64_t step = lda * PartsOf<T>::kCount;
  int64_t j = 0;
  for (; j + C <= n; j += C) {
    Factor<T> factors[C];
    for (int c = 0; c < C; ++c) factors[c] = Factor<T>(y[j + c]);
    RealPart<T>* const to = PartsAt(a + j * lda);
    ForParts<T>(m, [&](int64_t i, auto load, auto store) {
      const auto v = load(from + i), swapped = SwapOf<T>(v);
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
        RealPart<T>* const at = to + i + c * step;
        store(at, factors[c].AddTo(load(at), v, swapped));
      }
    });
  }
  if constexpr (C > 1) Ger<T, C / 2>(m, n - j, x, y + j, a + j * lda, lda);
}

template <typename T, int C>
void DotColumns(int64_t n, const T* a, int64_t lda, const T* x,
                Sums<T, C>& sums) {
  const RealPart<T>*const from = PartsAt(a), *const with = PartsAt(x);
  const int64_t step = lda * PartsOf<T>::kCount;
  ForParts<T>(n, [&](int64_t i, auto load, auto) {
    const auto v = load(with + i), swapped = SwapOf<T>(v);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c)
      sums.of[c].Add(load(from + i + c * step), v, swapped);
  });
}

template <typename T, int C = kColumns<T>>
void GemvTurned(int64_t m, int64_t n, T alpha, const T* a, int64_t lda,
                const T* x, bool conjugate, T* y) {
  int64_t j = 0;
  for (; j + C <= n; j += C) {
    Sums<T, C> sums;
    DotColumns<T, C>(m, a + j * lda, lda, x, sums);
    for (int c = 0; c < C; ++c)
      y[j + c] += Multiply(alpha, sums.of[c].Value(conjugate));
  }
  if constexpr (C > 1)
    GemvTurned<T, C / 2>(m, n - j, alpha, a + j * lda, lda, x, conjugate,
                         y + j);
}

template <typename T>
void Axpy(int64_t n, T alpha, const T* x, T* y) {
  AddColumns<T, 1>(n, x, 0, &alpha, y);
}

template <typename T>
T Dot(int64_t n, const T* x, const T* y, bool conjugate) {
  const RealPart<T>*const from = PartsAt(x), *const with = PartsAt(y);
  constexpr int kSums = 4;
  Sums<T, kSums> sums;
  constexpr int64_t kStep =
      kSums * Parts<RealPart<T>>::kLanes / PartsOf<T>::kCount;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 4
    for (int s = 0; s < kSums; ++s) {
      const int64_t at =
          i * PartsOf<T>::kCount + s * Parts<RealPart<T>>::kLanes;
      const auto v = Parts<RealPart<T>>::Load(with + at);
      sums.of[s].Add(Parts<RealPart<T>>::Load(from + at), v, SwapOf<T>(v));
    }
  }
  Sums<T, 1> rest;
  DotColumns<T, 1>(n - i, x + i, 0, y + i, rest);
  for (const Sum<T>& sum : sums.of) {
    rest.of[0].straight += sum.straight;
    rest.of[0].crossed += sum.crossed;
  }
  return rest.of[0].Value(conjugate);
}

template <typename T>
void Scale(int64_t n, T alpha, T* x) {
  using Vector = typename Factor<T>::Vector;
  const Factor<T> factor(alpha);
  RealPart<T>* const to = PartsAt(x);
  ForParts<T>(n, [&](int64_t i, auto load, auto store) {
    store(to + i, factor.AddTo(Vector{}, load(to + i)));
  });
}

template <typename T>
double Squares(int64_t n, const T* x) {
  const RealPart<T>* const from = PartsAt(x);
  constexpr int kLanes = 32;
  double sums[kLanes] = {};
  const int64_t parts = n * PartsOf<T>::kCount;
  int64_t i = 0;
  for (; i + kLanes <= parts; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const double v = from[i + l];
      sums[l] += v * v;
    }
  }
  for (int l = 0; i < parts; ++i, ++l) {
    const double v = from[i];
    sums[l] += v * v;
  }
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) sums[l] += sums[l + width];
  return sums[0];
}

// y += a x and, of each column, the sum with x: one pass over C columns.
template <typename T, int C>
void AddAndDotColumns(int64_t n, const T* a, int64_t lda, const T* at, T* y,
                      const T* x, T* dots) {
  Factor<T> factors[C];
  for (int c = 0; c < C; ++c) factors[c] = Factor<T>(at[c]);
  Sums<T, C> sums;
  const RealPart<T>*const from = PartsAt(a), *const with = PartsAt(x);
  RealPart<T>* const to = PartsAt(y);
  const int64_t step = lda * PartsOf<T>::kCount;
  ForParts<T>(n, [&](int64_t i, auto load, auto store) {
    auto sum = load(to + i);
    const auto v = load(with + i), swapped = SwapOf<T>(v);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      const auto column = load(from + i + c * step);
      sum = factors[c].AddTo(sum, column);
      sums.of[c].Add(column, v, swapped);
    }
    store(to + i, sum);
  });
  for (int c = 0; c < C; ++c) dots[c] = sums.of[c].Value(true);
}

// Columns [j, j + C) of the triangle.
template <typename T, int C>
void HemvColumns(bool upper, int64_t n, int64_t j, T alpha, const T* a,
                 int64_t lda, const T* x, T* y) {
  T at[C], dots[C];
  for (int c = 0; c < C; ++c) at[c] = Multiply(alpha, x[j + c]);
  const int64_t first = upper ? 0 : j + C, count = upper ? j : n - first;
  AddAndDotColumns<T, C>(count, a + first + j * lda, lda, at, y + first,
                         x + first, dots);
  for (int c = 0; c < C; ++c) {
    T sum = dots[c];
    for (int r = 0; r < C; ++r) {
      // Element (r, c) of the block on the diagonal.
      const bool stored = upper ? r <= c : r >= c;
      const T e = stored ? a[j + r + (j + c) * lda]
                         : Conjugate(a[j + c + (j + r) * lda]);
      if (r == c) {
        sum += std::real(e) * x[j + r];
      } else {
        sum += Multiply(Conjugate(e), x[j + r]);
      }
    }
    y[j + c] += Multiply(alpha, sum);
  }
}

template <typename T>
void Hemv(bool upper, int64_t n, T alpha, const T* a, int64_t lda, const T* x,
          T* y) {
  constexpr int C = 4;
  int64_t j = 0;
  for (; j + C <= n; j += C)
    HemvColumns<T, C>(upper, n, j, alpha, a, lda, x, y);
  for (; j < n; ++j) HemvColumns<T, 1>(upper, n, j, alpha, a, lda, x, y);
}

// Some numbers of each column go through all rotations together; what one
// rotation leaves for the next stays in a register.
template <typename T>
void RotateColumns(bool forward, int64_t m, int64_t n,
                   const RealPart<T>* cosine, const RealPart<T>* sine, T* a,
                   int64_t lda) {
  using P = Parts<RealPart<T>>;
  const int64_t step = lda * PartsOf<T>::kCount;
  RealPart<T>* const first = PartsAt(a);
  ForParts<T>(m, [&](int64_t i, auto load, auto store) {
    RealPart<T>* const at = first + i;
    auto kept = load(at + (forward ? 0 : (n - 1) * step));
    for (int64_t k = 0; k + 1 < n; ++k) {
      const int64_t j = forward ? k : n - 2 - k;
      const auto c = P::Fill(cosine[j]), s = P::Fill(sine[j]);
      const auto other = load(at + (forward ? j + 1 : j) * step);
      const auto x = forward ? kept : other, y = forward ? other : kept;
      const auto left = P::MultiplyAdd(s, y, c * x);
      const auto right = P::MultiplyAdd(-s, x, c * y);
      store(at + (forward ? j : j + 1) * step, forward ? left : right);
      kept = forward ? right : left;
    }
    store(at + (forward ? n - 1 : 0) * step, kept);
  });
}

// Columns [0, C) of a [n, C], side by side.
template <typename T, int C>
void RotateRowsOf(bool forward, int64_t n, const RealPart<T>* cosine,
                  const RealPart<T>* sine, T* a, int64_t lda) {
  T kept[C];
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) kept[c] = a[(forward ? 0 : n - 1) + c * lda];
  for (int64_t k = 0; k + 1 < n; ++k) {
    const int64_t j = forward ? k : n - 2 - k;
    const RealPart<T> cos = cosine[j], sin = sine[j];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      T* const at = a + j + c * lda;
      const T x = forward ? kept[c] : at[0], y = forward ? at[1] : kept[c];
      const T left = cos * x + sin * y, right = cos * y - sin * x;
      at[forward ? 0 : 1] = forward ? left : right;
      kept[c] = forward ? right : left;
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) a[(forward ? n - 1 : 0) + c * lda] = kept[c];
}

template <typename T>
void Rotate(bool rows, bool forward, int64_t m, int64_t n,
            const RealPart<T>* cosine, const RealPart<T>* sine, T* a,
            int64_t lda) {
  if (m <= 0 || n <= 1) return;
  if (!rows) return RotateColumns(forward, m, n, cosine, sine, a, lda);
  constexpr int C = 8;
  int64_t j = 0;
  for (; j + C <= m; j += C)
    RotateRowsOf<T, C>(forward, n, cosine, sine, a + j * lda, lda);
  for (; j < m; ++j)
    RotateRowsOf<T, 1>(forward, n, cosine, sine, a + j * lda, lda);
}

template <typename T>
constexpr BlasLoops<T> kLoops = {
    Axpy<T>,       Dot<T>,        Scale<T>,      Squares<T>,     Gemv<T>,
    GemvTurned<T>, Ger<T>,        Hemv<T>,       Rotate<T>,      blas::Gemm<T>,
    blas::Trmm<T>, blas::Trsm<T>, blas::Herk<T>, blas::Her2k<T>,
};

}  // namespace

const BlasLoops<float>& FloatBlas() { return kLoops<float>; }
const BlasLoops<double>& DoubleBlas() { return kLoops<double>; }
const BlasLoops<std::complex<float>>& Complex64Blas() {
  return kLoops<std::complex<float>>;
}
const BlasLoops<std::complex<double>>& Complex128Blas() {
  return kLoops<std::complex<double>>;
}

}  // namespace proa::inline v0::ops::PROA_ISA
