// Scan: running sums (products, ...) along the middle dim of a contiguous array
// [outer, n, inner]. How a line is cut depends on its length alone, so the
// result does not depend on threads.
//
// For sources that are compiled once per instruction set.
#ifndef PROA_OPS_PRIMITIVES_CPU_SCAN_H_
#define PROA_OPS_PRIMITIVES_CPU_SCAN_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "ops/primitives/cpu/accumulator.h"
#include "ops/primitives/cpu/elementwise.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace scan_internal {

// out[i] = Op(out[i - 1], in[i]), one element after the other.
template <class Op, class T>
void ScanOneByOne(const T* in, T* out, int64_t n) {
  T sum = in[0];
  out[0] = sum;
  for (int64_t i = 1; i < n; ++i) {
    sum = Op::Combine(sum, in[i]);
    out[i] = sum;
  }
}

// One addition waits for the other, so a line is cut into segments that run
// side by side, and what came before a segment is added afterwards, while it is
// in the cache.
template <class Op, class T>
void ScanInSegments(const T* in, T* out, int64_t n) {
  constexpr int kSegments = 8;
  constexpr int64_t kLength = 128, kChunk = kSegments * kLength;
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk) {
    const T* a = in + i;
    T* b = out + i;
    // Hardware does not see through so many streams.
    for (int64_t j = kChunk; j < 2 * kChunk;
         j += std::max<int64_t>(1, 64 / sizeof(T))) {
      __builtin_prefetch(a + j, 0);
      __builtin_prefetch(b + j, 1);
    }
    T sum[kSegments];
#pragma GCC unroll 8
    for (int s = 0; s < kSegments; ++s)
      sum[s] = b[s * kLength] = a[s * kLength];
    for (int64_t j = 1; j < kLength; ++j) {
#pragma GCC unroll 8
      for (int s = 0; s < kSegments; ++s) {
        sum[s] = Op::Combine(sum[s], a[s * kLength + j]);
        b[s * kLength + j] = sum[s];
      }
    }
    for (int s = i == 0 ? 1 : 0; s < kSegments; ++s) {
      T* segment = b + s * kLength;
      const T before = segment[-1];
#pragma GCC ivdep
      for (int64_t j = 0; j < kLength; ++j)
        segment[j] = Op::Combine(before, segment[j]);
    }
  }
  if (i == n) return;
  if (i == 0) return ScanOneByOne<Op>(in, out, n);
  T sum = out[i - 1];
  for (; i < n; ++i) out[i] = sum = Op::Combine(sum, in[i]);
}

// Products are not cut: infinity in a segment behind a zero would give NaN.
template <class Op, class T>
void ScanLine(const T* in, T* out, int64_t n) {
  if constexpr (std::is_same_v<Op, SumOf>) {
    ScanInSegments<Op>(in, out, n);
  } else {
    ScanOneByOne<Op>(in, out, n);
  }
}

}  // namespace scan_internal

// out[o, i, j] = Op::Combine(out[o, i - 1, j], in[o, i, j]) for i = 1, 2, ...;
// `in` and `out` may be the same.
template <class Op, class T>
void Scan(const T* in, T* out, int64_t outer, int64_t n, int64_t inner) {
  // Neighbouring lines are run side by side, as rows of at most kStrip.
  constexpr int64_t kStrip = 1024;
  const int64_t strips = (inner + kStrip - 1) / kStrip;
  const int64_t work = std::max<int64_t>(1, n * std::min(inner, kStrip));
  parallel_for(0, outer * strips, std::max<int64_t>(1, kSerialCost / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t column = task % strips * kStrip;
                   const int64_t width = std::min(kStrip, inner - column);
                   const int64_t first = task / strips * n * inner + column;
                   if (inner == 1) {
                     scan_internal::ScanLine<Op>(in + first, out + first, n);
                     continue;
                   }
                   const T* from = in + first;
                   T* to = out + first;
                   std::copy_n(from, width, to);
                   for (int64_t i = 1; i < n; ++i, to += inner) {
                     from += inner;
#pragma GCC ivdep
                     for (int64_t j = 0; j < width; ++j) {
                       to[inner + j] = Op::Combine(to[j], from[j]);
                     }
                   }
                 }
               });
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_SCAN_H_
