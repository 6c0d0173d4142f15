// Parts of the vectors of vectors.h: the first lanes alone, for what is left of
// a row, and all lanes as one.
#ifndef PROA_OPS_PRIMITIVES_CPU_VECTOR_PARTS_H_
#define PROA_OPS_PRIMITIVES_CPU_VECTOR_PARTS_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace vector_parts_internal {

#if defined(__AVX2__) && !defined(__AVX512F__)
// All bits of the first n lanes of a vector of A.
template <typename A>
inline __m256i FirstLanes(int64_t n) {
  if constexpr (sizeof(A) == 4) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
  } else {
    const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), lanes);
  }
}
#endif

template <typename A, int kLanes>
struct LanesOf {
  typedef A Type __attribute__((vector_size(kLanes * sizeof(A))));
};

}  // namespace vector_parts_internal

// The first n elements from `from` on, and `rest` in the other lanes. 0 < n <=
// kLanes; behind them nothing is read.
template <typename A>
inline typename VectorOf<A>::Type LoadFirst(const A* from, int64_t n, A rest) {
  using V = VectorOf<A>;
  const typename V::Type others = typename V::Type{} + rest;
#if defined(__AVX512F__)
  const auto mask = static_cast<uint32_t>((uint32_t{1} << n) - 1);
  if constexpr (sizeof(A) == 4)
    return _mm512_mask_loadu_ps(others, static_cast<__mmask16>(mask), from);
  else
    return _mm512_mask_loadu_pd(others, static_cast<__mmask8>(mask), from);
#elif defined(__AVX2__)
  const __m256i mask = vector_parts_internal::FirstLanes<A>(n);
  if constexpr (sizeof(A) == 4)
    return _mm256_blendv_ps(others, _mm256_maskload_ps(from, mask),
                            _mm256_castsi256_ps(mask));
  else
    return _mm256_blendv_pd(others, _mm256_maskload_pd(from, mask),
                            _mm256_castsi256_pd(mask));
#else
  alignas(kVectorBytes) A lanes[V::kLanes];
  V::Store(lanes, others);
  for (int64_t l = 0; l < n; ++l) lanes[l] = from[l];
  return V::Load(lanes);
#endif
}

// Writes the first n lanes, and nothing behind them. 0 < n <= kLanes.
template <typename A>
inline void StoreFirst(A* to, const typename VectorOf<A>::Type& v, int64_t n) {
#if defined(__AVX512F__)
  const auto mask = static_cast<uint32_t>((uint32_t{1} << n) - 1);
  if constexpr (sizeof(A) == 4)
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), v);
  else
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask), v);
#elif defined(__AVX2__)
  const __m256i mask = vector_parts_internal::FirstLanes<A>(n);
  if constexpr (sizeof(A) == 4)
    _mm256_maskstore_ps(to, mask, v);
  else
    _mm256_maskstore_pd(to, mask, v);
#else
  for (int64_t l = 0; l < n; ++l) to[l] = v[l];
#endif
}

// All lanes as one, halved again and again: Op::Of(a, b) of vectors of the
// lower and of the upper lanes, and of numbers at last.
template <typename Op, typename A, int kLanes = VectorOf<A>::kLanes>
inline A FoldLanes(
    const typename vector_parts_internal::LanesOf<A, kLanes>::Type& v) {
  if constexpr (kLanes == 2) {
    return Op::Of(v[0], v[1]);
  } else {
    const auto halves = [&]<int... l>(std::integer_sequence<int, l...>)
        __attribute__((always_inline)) {
      return std::pair(__builtin_shufflevector(v, v, l...),
                       __builtin_shufflevector(v, v, (l + kLanes / 2)...));
    }
    (std::make_integer_sequence<int, kLanes / 2>{});
    return FoldLanes<Op, A, kLanes / 2>(Op::Of(halves.first, halves.second));
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_VECTOR_PARTS_H_
