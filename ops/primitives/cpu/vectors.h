// Vectors as wide as the registers of the instruction set that is compiled for,
// for kernels whose loops gcc does not vectorize well by itself.
#ifndef PROA_OPS_PRIMITIVES_CPU_VECTORS_H_
#define PROA_OPS_PRIMITIVES_CPU_VECTORS_H_

#if defined(__FMA__)
#include <immintrin.h>
#endif

#include <cstring>

namespace proa::inline v0::ops::PROA_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

// Of float or double.
template <typename A>
struct VectorOf {
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(A));
  typedef A Type __attribute__((vector_size(kVectorBytes)));

  static Type Load(const A* from) {
    Type v;
    std::memcpy(&v, from, sizeof(v));
    return v;
  }
  static void Store(A* to, const Type& v) { std::memcpy(to, &v, sizeof(v)); }

  // a b + c, rounded once where the machine does that.
  static Type MultiplyAdd(Type a, Type b, Type c) {
#if defined(__AVX512F__)
    if constexpr (sizeof(A) == 4) return _mm512_fmadd_ps(a, b, c);
    if constexpr (sizeof(A) == 8) return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
    if constexpr (sizeof(A) == 4) return _mm256_fmadd_ps(a, b, c);
    if constexpr (sizeof(A) == 8) return _mm256_fmadd_pd(a, b, c);
#endif
    return a * b + c;
  }
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_VECTORS_H_
