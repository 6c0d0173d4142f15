// The vectors of square_root.h for AVX-512, which is to be compiled for.
#ifndef PROA_OPS_PRIMITIVES_SQUARE_ROOT_AVX512_H_
#define PROA_OPS_PRIMITIVES_SQUARE_ROOT_AVX512_H_

#include <immintrin.h>

#include <cstdint>

namespace proa::inline v0::ops::square_root {

// Of numbers from 2^-100 on, rounded as the instruction does it, which takes
// twice as long. 14 bits of 1 / sqrt(x) give 27 of both roots, and what the
// square of the one is off, which is exact, the last: before it is rounded it
// is off by less than 2^-46. CPUs differ in the first guess; the 31 mantissas
// of two binades whose roots are within 2^-44 of the middle of two floats were
// tried with every guess of 14 right bits, and all round right.
inline __m512 OfNormal(__m512 x) {
  const __m512 half = _mm512_set1_ps(0.5f);
  const __m512 inverse = _mm512_rsqrt14_ps(x);
  __m512 root = _mm512_mul_ps(x, inverse);
  __m512 slope = _mm512_mul_ps(half, inverse);
  const __m512 missing = _mm512_fnmadd_ps(root, slope, half);
  root = _mm512_fmadd_ps(root, missing, root);
  slope = _mm512_fmadd_ps(slope, missing, slope);
  return _mm512_fmadd_ps(_mm512_fnmadd_ps(root, root, x), slope, root);
}

// out[i] = sqrt(x[i]) of whole vectors; how many numbers those are.
inline int64_t Vectors(const float* x, float* out, int64_t n) {
  constexpr int32_t kLeast = 0x0d800000, kInfinite = 0x7f800000;  // 2^-100
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512 v = _mm512_loadu_ps(x + i);
    const bool all_normal =
        _mm512_cmpge_epu32_mask(
            _mm512_sub_epi32(_mm512_castps_si512(v), _mm512_set1_epi32(kLeast)),
            _mm512_set1_epi32(kInfinite - kLeast)) == 0;
    _mm512_storeu_ps(out + i, all_normal ? OfNormal(v) : _mm512_sqrt_ps(v));
  }
  return i;
}

}  // namespace proa::inline v0::ops::square_root

#endif  // PROA_OPS_PRIMITIVES_SQUARE_ROOT_AVX512_H_
