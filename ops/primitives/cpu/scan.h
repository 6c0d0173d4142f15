// Scan: running sums (products, ...) along the middle dim of a contiguous array
// [outer, n, inner]. How a line is cut depends on its length alone, so the
// result does not depend on threads. Running sums of numbers that are not
// negative do not fall: each result is the one before it, or what that one is
// made of, plus an element.
//
// For sources that are compiled once per instruction set.
#ifndef PROA_OPS_PRIMITIVES_CPU_SCAN_H_
#define PROA_OPS_PRIMITIVES_CPU_SCAN_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

#include "ops/primitives/cpu/accumulator.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/elementwise.h"
#include "ops/primitives/host_device.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace scan_internal {

// A line is scanned chunk by chunk, each on its own, and what comes before a
// chunk is added afterwards. So chunks can be scanned side by side.
inline constexpr int64_t kChunk = 8192;
// Elements that are brought to the output together.
inline constexpr int64_t kPiece = 2048;

// In what results are carried on: products of float in double, since they soon
// leave the range of float, and numbers at its end are slow.
template <class Op, class T>
using CarryOf = std::conditional_t<
    std::is_same_v<Op, ProductOf> && std::is_same_v<T, float>, double, T>;

// A carry as a result. A conversion that gives a subnormal number takes the
// machine a hundred times longer; here the last place is brought there by an
// addition.
template <class T, class C>
PROA_HD T ResultOf(C v) {
  if constexpr (std::is_same_v<T, C>) {
    return v;
  } else {
    constexpr double kPlaces = 0x1.8p-97;  // 2^-149 is its last place
    const double size = std::abs(v);
    const bool tiny = size < 0x1p-126;
    const uint32_t places =
        static_cast<uint32_t>(std::bit_cast<uint64_t>(size + kPlaces)) |
        static_cast<uint32_t>(std::bit_cast<uint64_t>(v) >> 63 << 31);
    const float normal = static_cast<float>(tiny ? 1.0 : v);
    return tiny ? std::bit_cast<float>(places) : normal;
  }
}

// What precedes `n` elements, as a part of the line that is being scanned.
template <class T>
struct Carry {
  T sum;
  bool any = false;
};

// out[i] = Op(out[i - 1], in[i]), one element after the other.
template <class Op, class T, class C>
void ScanOneByOne(const T* in, T* out, int64_t n, Carry<C>* carry) {
  C sum = carry->any ? Op::Combine(carry->sum, C(in[0])) : C(in[0]);
  out[0] = ResultOf<T>(sum);
  for (int64_t i = 1; i < n; ++i) {
    sum = Op::Combine(sum, C(in[i]));
    out[i] = ResultOf<T>(sum);
  }
  *carry = {sum, true};
}

// A square of vectors of 16 bytes, rows to columns and back.
typedef float FloatVector __attribute__((vector_size(16)));
typedef double DoubleVector __attribute__((vector_size(16)));
PROA_HD void Turn(FloatVector (&r)[4]) {
  const FloatVector a = __builtin_shufflevector(r[0], r[2], 0, 4, 1, 5),
                    b = __builtin_shufflevector(r[0], r[2], 2, 6, 3, 7),
                    c = __builtin_shufflevector(r[1], r[3], 0, 4, 1, 5),
                    d = __builtin_shufflevector(r[1], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, c, 0, 4, 1, 5);
  r[1] = __builtin_shufflevector(a, c, 2, 6, 3, 7);
  r[2] = __builtin_shufflevector(b, d, 0, 4, 1, 5);
  r[3] = __builtin_shufflevector(b, d, 2, 6, 3, 7);
}
PROA_HD void Turn(DoubleVector (&r)[2]) {
  const DoubleVector a = r[0];
  r[0] = __builtin_shufflevector(a, r[1], 0, 2);
  r[1] = __builtin_shufflevector(a, r[1], 1, 3);
}
PROA_HD FloatVector RepeatLast(FloatVector v) {
  return __builtin_shufflevector(v, v, 3, 3, 3, 3);
}
PROA_HD DoubleVector RepeatLast(DoubleVector v) {
  return __builtin_shufflevector(v, v, 1, 1);
}

// An addition waits for the one before it, so sums are first formed within
// segments of two vectors, several of them side by side; then only one addition
// a segment waits.
template <class T>
void SumInSegments(const T* in, T* out, int64_t n, Carry<T>* carry) {
  using Vector =
      std::conditional_t<std::is_same_v<T, float>, FloatVector, DoubleVector>;
  constexpr int kSide = 16 / sizeof(T);
  constexpr int64_t kSegment = 2 * kSide;
  const T start = carry->any ? carry->sum : T(-0.0);  // x + -0 is x
  Vector before = start - Vector{};                   // not +: -0 stays
  int64_t i = 0;
  for (; i + kSide * kSegment <= n; i += kSide * kSegment) {
    Vector low[kSide], high[kSide];  // halves of segments
#pragma GCC unroll 4
    for (int k = 0; k < kSide; ++k) {
      std::memcpy(&low[k], in + i + k * kSegment, 16);
      std::memcpy(&high[k], in + i + k * kSegment + kSide, 16);
    }
    Turn(low);
    Turn(high);
#pragma GCC unroll 4
    for (int k = 1; k < kSide; ++k) low[k] += low[k - 1];
    high[0] += low[kSide - 1];
#pragma GCC unroll 4
    for (int k = 1; k < kSide; ++k) high[k] += high[k - 1];
    Turn(low);
    Turn(high);
#pragma GCC unroll 4
    for (int k = 0; k < kSide; ++k) {
      const Vector first = low[k] + before, second = high[k] + before;
      before += RepeatLast(high[k]);
      std::memcpy(out + i + k * kSegment, &first, 16);
      std::memcpy(out + i + k * kSegment + kSide, &second, 16);
    }
  }
  // The rest adds up in the same way.
  T sum = before[0];
  while (i < n) {
    const int64_t end = std::min(n, i + kSegment);
    T within = in[i];
    out[i] = sum + within;
    for (++i; i < end; ++i) {
      within += in[i];
      out[i] = sum + within;
    }
    sum += within;
  }
  *carry = {sum, true};
}

// out = the running sums of a part of a line, from the carry on, which becomes
// the last of them.
template <class Op, class T, class C>
void ScanPart(const T* in, T* out, int64_t n, Carry<C>* carry) {
  if constexpr (std::is_same_v<Op, SumOf> && std::is_floating_point_v<T>) {
    SumInSegments(in, out, n, carry);
  } else {
    ScanOneByOne<Op>(in, out, n, carry);
  }
}

// Products are not cut: infinity in a chunk behind a zero would give NaN.
template <class Op>
inline constexpr bool kCut = std::is_same_v<Op, SumOf>;

// Brings n elements of a chunk to the output, after `before`.
template <class Op, class T>
void Store(const T* from, const Carry<T>& before, bool stream, int64_t n,
           T* out) {
  alignas(64) T piece[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    T* to = stream ? piece : out + i;
    if (before.any) {
      const T sum = before.sum;
#pragma GCC ivdep
      for (int64_t j = 0; j < count; ++j) to[j] = Op::Combine(sum, from[i + j]);
    } else {
      std::copy_n(from + i, count, to);
    }
    if (stream) StreamCopy(out + i, to, count * sizeof(T));
  }
}

// A line on one thread. Chunks need not be kept: what comes before is known.
template <class Op, class T>
void ScanLine(const T* in, T* out, int64_t n, bool stream) {
  alignas(64) T piece[kPiece];
  Carry<T> before{};
  for (int64_t first = 0; first < n; first += kCut<Op> ? kChunk : n) {
    const int64_t end = kCut<Op> ? std::min(n, first + kChunk) : n;
    Carry<CarryOf<Op, T>> carry{};
    for (int64_t i = first; i < end; i += kPiece) {
      const int64_t count = std::min(kPiece, end - i);
      if (!before.any && !stream) {
        ScanPart<Op>(in + i, out + i, count, &carry);
        continue;
      }
      ScanPart<Op>(in + i, piece, count, &carry);
      Store<Op>(piece, before, stream, count, out + i);
    }
    if constexpr (kCut<Op>) {
      before = {before.any ? Op::Combine(before.sum, carry.sum) : carry.sum,
                true};
    }
  }
}

// As many lines side by side as hide how long a product waits for the one
// before it; they follow each other, of n elements each.
inline constexpr int64_t kTogether = 4;
template <class Op, class T>
void ScanLinesTogether(const T* in, T* out, int64_t n, bool stream) {
  using C = CarryOf<Op, T>;
  constexpr int64_t kPart = kPiece / kTogether;
  alignas(64) C sums[kTogether][kPart];
  alignas(64) T part[kPart];
  C last[kTogether];
  for (int64_t first = 0; first < n; first += kPart) {
    const int64_t count = std::min(kPart, n - first);
    const T* const from = in + first;
    if (first == 0) {
      for (int64_t l = 0; l < kTogether; ++l)
        last[l] = sums[l][0] = C(from[l * n]);
    }
    for (int64_t i = first == 0 ? 1 : 0; i < count; ++i) {
#pragma GCC unroll 4
      for (int64_t l = 0; l < kTogether; ++l)
        last[l] = sums[l][i] = Op::Combine(last[l], C(from[l * n + i]));
    }
    for (int64_t l = 0; l < kTogether; ++l) {
      T* const to = out + l * n + first;
      T* const results = stream ? part : to;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) results[i] = ResultOf<T>(sums[l][i]);
      if (stream) StreamCopy(to, results, count * sizeof(T));
    }
  }
}

// A line on several threads, which take its chunks in order. Each chunk is
// scanned on its own, which gives its total; every thread adds up for itself
// the totals before its chunk, and then writes. A thread that does not get on
// (the machine has other work for its core) holds nobody up: who misses a total
// scans that chunk too.
template <class Op, class T>
void ScanTogether(const T* in, T* out, int64_t n, bool stream) {
  constexpr int kPatience = 2000;  // looks at a total that is being formed
  const int64_t chunks = (n + kChunk - 1) / kChunk;
  const auto length = [&](int64_t k) {
    return std::min(kChunk, n - k * kChunk);
  };
  std::vector<T> totals(chunks);
  std::vector<std::atomic<bool>> known(chunks);
  std::atomic<int64_t> next{0};
  const int64_t workers = std::min<int64_t>(GetNumThreads(), chunks);
  parallel_for(0, workers, 1, [&](int64_t, int64_t) {
    const Tensor memory = Tensor::Empty({2 * kChunk}, kDTypeOf<T>);
    T* const chunk = memory.data<T>();
    T* const other = chunk + kChunk;
    const auto total_of = [&](int64_t k) {
      for (int looks = 0; !known[k].load(std::memory_order_acquire); ++looks) {
        if (looks < kPatience) continue;
        if (in == out) {  // its thread may be writing over the input
          std::this_thread::yield();
          continue;
        }
        Carry<T> carry{};
        ScanPart<Op>(in + k * kChunk, other, length(k), &carry);
        return carry.sum;
      }
      return totals[k];
    };
    Carry<T> before{};  // what precedes chunk `at`
    int64_t at = 0;
    while (true) {
      const int64_t k = next.fetch_add(1, std::memory_order_relaxed);
      if (k >= chunks) return;
      const int64_t first = k * kChunk;
      Carry<T> carry{};
      ScanPart<Op>(in + first, chunk, length(k), &carry);
      totals[k] = carry.sum;
      known[k].store(true, std::memory_order_release);
      for (; at < k; ++at) {
        const T total = total_of(at);
        before = {before.any ? Op::Combine(before.sum, total) : total, true};
      }
      Store<Op>(chunk, before, stream, length(k), out + first);
      if (stream) StreamFence();
    }
  });
}

// `width` neighbouring lines, which lie `inner` elements apart.
template <class Op, class T>
void ScanColumns(const T* in, T* out, int64_t n, int64_t inner, int64_t width,
                 bool stream) {
  using C = CarryOf<Op, T>;
  alignas(64) C sum[kPiece];
  alignas(64) T row[kPiece];
  for (int64_t j = 0; j < width; ++j) sum[j] = C(in[j]);
  for (int64_t i = 0; i < n; ++i, in += inner, out += inner) {
    if (i > 0) {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j)
        sum[j] = Op::Combine(sum[j], C(in[j]));
    }
    const T* results = row;
    if constexpr (std::is_same_v<C, T>) {
      results = sum;
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) row[j] = ResultOf<T>(sum[j]);
    }
    if (stream) {
      StreamCopy(out, results, width * sizeof(T));
    } else {
      std::copy_n(results, width, out);
    }
  }
}

}  // namespace scan_internal

// out[o, i, j] = Op::Combine(out[o, i - 1, j], in[o, i, j]) for i = 1, 2, ...;
// `in` and `out` may be the same.
template <class Op, class T>
void Scan(const T* in, T* out, int64_t outer, int64_t n, int64_t inner) {
  using scan_internal::kCut;
  using scan_internal::kPiece;
  using scan_internal::kTogether;
  const bool stream =
      in != out &&
      PaysToStream(2 * outer * n * inner * static_cast<int64_t>(sizeof(T)));
  if (inner == 1 && n >= 4 * scan_internal::kChunk && kCut<Op> &&
      outer < GetNumThreads()) {
    for (int64_t o = 0; o < outer; ++o) {
      scan_internal::ScanTogether<Op>(in + o * n, out + o * n, n, stream);
    }
    return;
  }
  const int64_t strips = (inner + kPiece - 1) / kPiece;
  const int64_t work = std::max<int64_t>(1, n * std::min(inner, kPiece));
  parallel_for(
      0, outer * strips, std::max<int64_t>(1, kSerialCost / work),
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t column = task % strips * kPiece;
          const int64_t first = task / strips * n * inner + column;
          if (inner == 1 && !kCut<Op> && end - task >= kTogether) {
            scan_internal::ScanLinesTogether<Op>(in + first, out + first, n,
                                                 stream);
            task += kTogether - 1;
          } else if (inner == 1) {
            scan_internal::ScanLine<Op>(in + first, out + first, n, stream);
          } else {
            scan_internal::ScanColumns<Op>(in + first, out + first, n, inner,
                                           std::min(kPiece, inner - column),
                                           stream);
          }
        }
        if (stream) StreamFence();
      });
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_SCAN_H_
