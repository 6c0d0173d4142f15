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

// Of numbers from 2^-900 on, as above with a step more; the instruction takes
// 2.3 times as long. Before it is rounded the root is off by less than 2^-103.
// Roots that close to the middle of two doubles are those whose odd number
// 2m + 1 of half units has a square within a hundred of a multiple of the
// unit of x; all within 4000 were tried with 512 guesses of 14 right bits each.
inline __m512d OfNormal(__m512d x) {
  const __m512d half = _mm512_set1_pd(0.5);
  const __m512d inverse = _mm512_rsqrt14_pd(x);
  __m512d root = _mm512_mul_pd(x, inverse);
  __m512d slope = _mm512_mul_pd(half, inverse);
  for (int step = 0; step < 2; ++step) {
    const __m512d missing = _mm512_fnmadd_pd(root, slope, half);
    root = _mm512_fmadd_pd(root, missing, root);
    slope = _mm512_fmadd_pd(slope, missing, slope);
  }
  return _mm512_fmadd_pd(_mm512_fnmadd_pd(root, root, x), slope, root);
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

inline int64_t Vectors(const double* x, double* out, int64_t n) {
  constexpr int64_t kLeast = 0x07b0000000000000,  // 2^-900
      kInfinite = 0x7ff0000000000000;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m512d v = _mm512_loadu_pd(x + i);
    const bool all_normal =
        _mm512_cmpge_epu64_mask(
            _mm512_sub_epi64(_mm512_castpd_si512(v), _mm512_set1_epi64(kLeast)),
            _mm512_set1_epi64(kInfinite - kLeast)) == 0;
    _mm512_storeu_pd(out + i, all_normal ? OfNormal(v) : _mm512_sqrt_pd(v));
  }
  return i;
}

}  // namespace proa::inline v0::ops::square_root

#endif  // PROA_OPS_PRIMITIVES_SQUARE_ROOT_AVX512_H_
