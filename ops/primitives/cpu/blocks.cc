#include "ops/primitives/cpu/blocks.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "ops/primitives/cast_value.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Conversion ------------------------------------------------------------------

// A bool in memory is a byte, 0 or 1; gcc vectorizes loads of bytes only.
template <typename From>
using Loaded = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;

template <typename From, typename To>
void ConvertRange(const void* src, void* dst, int64_t begin, int64_t end) {
  const Loaded<From>* s = static_cast<const Loaded<From>*>(src);
  To* d = static_cast<To*>(dst);
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) d[i] = CastValue<To>(s[i]);
}

template <typename From, typename To>
void ConvertBlock(const void* src, void* dst, int64_t n) {
  ConvertRange<From, To>(src, dst, 0, n);
}

#if defined(__F16C__)
// float16 has instructions of its own.
template <>
void ConvertBlock<float16, float>(const void* src, void* dst, int64_t n) {
  const __m128i* s = static_cast<const __m128i*>(src);
  float* d = static_cast<float*>(dst);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128(s + i / 8)));
  }
  ConvertRange<float16, float>(src, dst, i, n);
}
template <>
void ConvertBlock<float, float16>(const void* src, void* dst, int64_t n) {
  const float* s = static_cast<const float*>(src);
  __m128i* d = static_cast<__m128i*>(dst);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(d + i / 8, _mm256_cvtps_ph(_mm256_loadu_ps(s + i),
                                                _MM_FROUND_TO_NEAREST_INT));
  }
  ConvertRange<float, float16>(src, dst, i, n);
}
#endif

#if defined(__AVX512F__)
// CPUs with products of bfloat16 round to it in one instruction, a quarter of
// the time, but take denormals for zeros: vectors with one go the other way.
__attribute__((target("avx512bf16"))) int64_t RoundVectors(const float* s,
                                                           bfloat16* d,
                                                           int64_t n) {
  constexpr int kDenormal = 0x20;
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m512 low = _mm512_loadu_ps(s + i);
    const __m512 high = _mm512_loadu_ps(s + i + 16);
    if ((_mm512_fpclass_ps_mask(low, kDenormal) |
         _mm512_fpclass_ps_mask(high, kDenormal)) != 0) {
      ConvertRange<float, bfloat16>(s, d, i, i + 32);
    } else {
      _mm512_storeu_si512(
          d + i, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
    }
  }
  return i;
}
template <>
void ConvertBlock<float, bfloat16>(const void* src, void* dst, int64_t n) {
  const int64_t done = __builtin_cpu_supports("avx512bf16")
                           ? RoundVectors(static_cast<const float*>(src),
                                          static_cast<bfloat16*>(dst), n)
                           : 0;
  ConvertRange<float, bfloat16>(src, dst, done, n);
}
#endif

template <typename From>
constexpr ConvertFn ConvertTo(DType to) {
  constexpr DType kFrom = kDTypeOf<From>;
#define PROA_CONVERT(e, To, name, kind)                          \
  if (to == DType::e) {                                          \
    return kFrom == DType::e ? nullptr : ConvertBlock<From, To>; \
  }
  PROA_FOR_EACH_DTYPE(PROA_CONVERT)
#undef PROA_CONVERT
  return nullptr;
}

struct ConvertTable {
  ConvertFn fn[kNumDTypes][kNumDTypes];
};

constexpr ConvertTable MakeConvertTable() {
  ConvertTable t{};
  for (int to = 0; to < kNumDTypes; ++to) {
#define PROA_CONVERT_FROM(e, From, name, kind) \
  t.fn[static_cast<int>(DType::e)][to] =       \
      ConvertTo<From>(static_cast<DType>(to));
    PROA_FOR_EACH_DTYPE(PROA_CONVERT_FROM)
#undef PROA_CONVERT_FROM
  }
  return t;
}
constexpr ConvertTable kConvertTable = MakeConvertTable();

// Strided runs ----------------------------------------------------------------

// Elements as bags of bytes, so that nothing is said about alignment.
template <int kSize>
struct Bytes {
  char byte[kSize];
};

template <int kSize, int kStep>
void GatherEvery(const char* __restrict src, int64_t n, char* __restrict dst) {
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(dst + i * kSize, src + i * kStep * kSize, kSize);
  }
}

template <int kSize>
void GatherFixed(const char* src, int64_t stride, int64_t n, char* dst) {
  using Item = Bytes<kSize>;
  if (stride == kSize) {
    std::memcpy(dst, src, n * kSize);
    return;
  }
  if (stride == 0) {
    Item v;
    std::memcpy(&v, src, kSize);
    for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * kSize, &v, kSize);
    return;
  }
  // Columns of short rows: with the stride known, gcc picks them in vectors.
  switch (stride) {
    case 2 * kSize:
      return GatherEvery<kSize, 2>(src, n, dst);
    case 3 * kSize:
      return GatherEvery<kSize, 3>(src, n, dst);
    case 4 * kSize:
      return GatherEvery<kSize, 4>(src, n, dst);
    default:
      break;
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(dst + i * kSize, src + i * stride, kSize);
  }
}

template <int kSize>
void ScatterFixed(const char* src, int64_t n, char* dst, int64_t stride) {
  if (stride == kSize) {
    std::memcpy(dst, src, n * kSize);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(dst + i * stride, src + i * kSize, kSize);
  }
}

// Visits the runs along the innermost dim that make up n elements from `at` on:
// visit(address of operand `op`, elements in the run, elements before it).
template <typename Visit>
void ForEachRun(const cpu::IterationPlan& plan, const cpu::IterationCursor& at,
                int op, int64_t n, Visit visit) {
  const int64_t* stride = plan.strides[op];
  int64_t index[kMaxRank];
  std::copy_n(at.index, plan.rank, index);
  char* p = at.data[op];
  for (int64_t done = 0;;) {
    const int64_t run = std::min(plan.dims[0] - index[0], n - done);
    visit(p, run, done);
    done += run;
    if (done == n) return;
    p -= index[0] * stride[0];
    index[0] = 0;
    for (int d = 1; d < plan.rank; ++d) {
      p += stride[d];
      if (++index[d] < plan.dims[d]) break;
      index[d] = 0;
      p -= plan.dims[d] * stride[d];
    }
  }
}

}  // namespace

ConvertFn FindConvert(DType from, DType to) {
  return kConvertTable.fn[static_cast<int>(from)][static_cast<int>(to)];
}

void GatherRun(const char* src, int64_t stride, int64_t item_size, int64_t n,
               char* dst) {
  switch (item_size) {
    case 1:
      return GatherFixed<1>(src, stride, n, dst);
    case 2:
      return GatherFixed<2>(src, stride, n, dst);
    case 4:
      return GatherFixed<4>(src, stride, n, dst);
    case 8:
      return GatherFixed<8>(src, stride, n, dst);
    default:
      return GatherFixed<16>(src, stride, n, dst);
  }
}

void ScatterRun(const char* src, int64_t item_size, int64_t n, char* dst,
                int64_t stride) {
  switch (item_size) {
    case 1:
      return ScatterFixed<1>(src, n, dst, stride);
    case 2:
      return ScatterFixed<2>(src, n, dst, stride);
    case 4:
      return ScatterFixed<4>(src, n, dst, stride);
    case 8:
      return ScatterFixed<8>(src, n, dst, stride);
    default:
      return ScatterFixed<16>(src, n, dst, stride);
  }
}

namespace {

// Runs of a few elements, where a call of GatherRun for each would cost more
// than the elements.
template <int kSize>
void GatherShort(const cpu::IterationPlan& plan, const cpu::IterationCursor& at,
                 int op, int64_t n, char* dst) {
  const int64_t stride = plan.strides[op][0];
  ForEachRun(plan, at, op, n, [&](const char* p, int64_t run, int64_t done) {
    char* to = dst + done * kSize;
    for (int64_t i = 0; i < run; ++i, p += stride, to += kSize) {
      std::memcpy(to, p, kSize);
    }
  });
}

}  // namespace

void GatherBlock(const cpu::IterationPlan& plan, const cpu::IterationCursor& at,
                 int op, int64_t item_size, int64_t n, char* dst) {
  constexpr int64_t kShort = 16;
  if (plan.dims[0] < kShort) {
    switch (item_size) {
      case 1:
        return GatherShort<1>(plan, at, op, n, dst);
      case 2:
        return GatherShort<2>(plan, at, op, n, dst);
      case 4:
        return GatherShort<4>(plan, at, op, n, dst);
      case 8:
        return GatherShort<8>(plan, at, op, n, dst);
      default:
        return GatherShort<16>(plan, at, op, n, dst);
    }
  }
  const int64_t stride = plan.strides[op][0];
  ForEachRun(plan, at, op, n, [&](char* p, int64_t run, int64_t done) {
    GatherRun(p, stride, item_size, run, dst + done * item_size);
  });
}

void ScatterBlock(const cpu::IterationPlan& plan,
                  const cpu::IterationCursor& at, int op, int64_t item_size,
                  int64_t n, const char* src) {
  const int64_t stride = plan.strides[op][0];
  ForEachRun(plan, at, op, n, [&](char* p, int64_t run, int64_t done) {
    ScatterRun(src + done * item_size, item_size, run, p, stride);
  });
}

// Non-temporal stores ---------------------------------------------------------

#if defined(__x86_64__)
namespace {
#if defined(__AVX512F__)
using Line = __m512i;
inline void StreamLine(void* dst, const void* src) {
  _mm512_stream_si512(static_cast<Line*>(dst), _mm512_loadu_si512(src));
}
#elif defined(__AVX__)
using Line = __m256i;
inline void StreamLine(void* dst, const void* src) {
  _mm256_stream_si256(static_cast<Line*>(dst),
                      _mm256_loadu_si256(static_cast<const Line*>(src)));
}
#else
using Line = __m128i;
inline void StreamLine(void* dst, const void* src) {
  _mm_stream_si128(static_cast<Line*>(dst),
                   _mm_loadu_si128(static_cast<const Line*>(src)));
}
#endif
}  // namespace

void StreamCopy(void* dst, const void* src, int64_t bytes) {
  constexpr int64_t kLine = sizeof(Line);
  char* d = static_cast<char*>(dst);
  const char* s = static_cast<const char*>(src);
  const int64_t head =
      std::min<int64_t>(-reinterpret_cast<uintptr_t>(d) & (kLine - 1), bytes);
  std::memcpy(d, s, head);
  int64_t i = head;
  for (; i + kLine <= bytes; i += kLine) StreamLine(d + i, s + i);
  std::memcpy(d + i, s + i, bytes - i);
}

void StreamFence() { _mm_sfence(); }
#else
void StreamCopy(void* dst, const void* src, int64_t bytes) {
  std::memcpy(dst, src, bytes);
}
void StreamFence() {}
#endif

}  // namespace proa::inline v0::ops::PROA_ISA
