// Vectors of the parts of numbers: of real ones the numbers themselves, of
// complex ones the real and the imaginary part in turn, as they lie in memory.
// For sources that are compiled once for each instruction set.
#ifndef PROA_OPS_LINALG_NUMBER_PARTS_H_
#define PROA_OPS_LINALG_NUMBER_PARTS_H_

#include <complex>
#include <cstdint>
#include <cstring>
#include <utility>

#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {

template <typename T>
struct PartsOf {
  using Real = T;
  static constexpr int kCount = 1;
};
template <typename R>
struct PartsOf<std::complex<R>> {
  using Real = R;
  static constexpr int kCount = 2;
};

template <typename T>
inline constexpr bool kIsComplex = PartsOf<T>::kCount == 2;

// Without the care for infinities that C++ takes.
template <typename R>
inline R Multiply(R a, R b) {
  return a * b;
}
template <typename R>
inline std::complex<R> Multiply(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}

template <typename T>
inline T Conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

template <typename R>
struct Parts : VectorOf<R> {
  using V = VectorOf<R>;
  using Type = typename V::Type;
  static constexpr int kLanes = V::kLanes;

  // The first `count` parts, less than kLanes; zeros beside them.
  static Type LoadFirst(const R* from, int64_t count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(R) == 4)
      return _mm512_maskz_loadu_ps((1u << count) - 1, from);
    if constexpr (sizeof(R) == 8)
      return _mm512_maskz_loadu_pd((1u << count) - 1, from);
#endif
    R parts[kLanes] = {};
    for (int64_t i = 0; i < count; ++i) parts[i] = from[i];
    return V::Load(parts);
  }
  static void StoreFirst(R* to, Type v, int64_t count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(R) == 4) {
      _mm512_mask_storeu_ps(to, (1u << count) - 1, v);
      return;
    }
    if constexpr (sizeof(R) == 8) {
      _mm512_mask_storeu_pd(to, (1u << count) - 1, v);
      return;
    }
#endif
    R parts[kLanes];
    V::Store(parts, v);
    for (int64_t i = 0; i < count; ++i) to[i] = parts[i];
  }

  static Type Fill(R x) { return x - Type{}; }

  // -x, x, -x, x, ...
  static Type Alternate(R x) {
    return Fill(x) * Signs(std::make_index_sequence<kLanes>());
  }

  // Real and imaginary parts change places.
  static Type Swap(Type v) {
    return SwapAt(v, std::make_index_sequence<kLanes>());
  }

  // The sums of the parts at even and at odd places.
  static std::pair<R, R> Sums(Type v) { return SumsOf<kLanes>(v); }

 private:
  template <size_t... I>
  static Type Signs(std::index_sequence<I...>) {
    return Type{(I % 2 == 0 ? R(-1) : R(1))...};
  }

  // By halves, which stay in registers.
  template <int kCount, typename W>
  static std::pair<R, R> SumsOf(W v) {
    if constexpr (kCount == 2) {
      return {v[0], v[1]};
    } else {
      return SumsOf<kCount / 2>(
          AddHalves(v, std::make_index_sequence<kCount / 2>()));
    }
  }
  template <typename W, size_t... I>
  static auto AddHalves(W v, std::index_sequence<I...>) {
    typedef R Half __attribute__((vector_size(sizeof...(I) * sizeof(R))));
    const Half low = __builtin_shufflevector(v, v, I...);
    const Half high = __builtin_shufflevector(v, v, (I + sizeof...(I))...);
    return low + high;
  }

  template <size_t... I>
  static Type SwapAt(Type v, std::index_sequence<I...>) {
    return __builtin_shufflevector(v, v, (I ^ 1)...);
  }
};

// Calls f(i, load, store) for each vector of `n` numbers: i counts parts; the
// last vector may be a part of one.
template <typename T, typename F>
inline void ForParts(int64_t n, F&& f) {
  using P = Parts<typename PartsOf<T>::Real>;
  using R = typename PartsOf<T>::Real;
  const int64_t parts = n * PartsOf<T>::kCount;
  int64_t i = 0;
  for (; i + P::kLanes <= parts; i += P::kLanes) {
    f(
        i, [](const R* from) { return P::Load(from); },
        [](R* to, typename P::Type v) { P::Store(to, v); });
  }
  if (const int64_t rest = parts - i; rest > 0) {
    f(
        i, [=](const R* from) { return P::LoadFirst(from, rest); },
        [=](R* to, typename P::Type v) { P::StoreFirst(to, v, rest); });
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_LINALG_NUMBER_PARTS_H_
