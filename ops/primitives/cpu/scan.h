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
#include <utility>
#include <vector>

#include "ops/primitives/cpu/accumulator.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/elementwise.h"
#include "ops/primitives/cpu/streaming.h"
#include "ops/primitives/cpu/vectors.h"
#include "ops/primitives/host_device.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace scan_internal {

// A line is scanned chunk by chunk, each on its own, and what comes before a
// chunk is added afterwards. So chunks can be scanned side by side.
inline constexpr int64_t kChunk = 4096;
// Elements that are brought to the output together.
inline constexpr int64_t kPiece = 2048;
// Elements that are scanned, and others stored, by turns: stores past the
// caches take their time, in which the next sums can be formed.
inline constexpr int64_t kTurn = 256;

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

// v, in which each lane of the upper half of 2 kStep lanes took in the last
// lane of the lower half.
template <int kStep, class V, int... kLane>
PROA_HD V TakeLowerHalf(V v, std::integer_sequence<int, kLane...>) {
  constexpr int kLanes = sizeof...(kLane);
  using T = std::remove_cvref_t<decltype(v[0])>;
  const V nothing = T(-0.0) - V{};  // x + -0 is x; not +: -0 stays
  return v + __builtin_shufflevector(
                 v, nothing,
                 ((kLane & kStep) != 0 ? (kLane & -kStep) - 1 : kLanes)...);
}
template <class V, int... kLane>
PROA_HD V RepeatLast(V v, std::integer_sequence<int, kLane...>) {
  constexpr int kLast = static_cast<int>(sizeof...(kLane)) - 1;
  return __builtin_shufflevector(v, v, (0 * kLane + kLast)...);
}

// An addition waits for the one before it, so sums are first formed within
// segments, by halves: in pairs, in fours, and so on, each upper half after the
// whole of the lower one. Then only one addition a segment waits. Segments are
// as long in every instruction set, so sums are the same bits.
template <class T>
void SumInSegments(const T* in, T* out, int64_t n, Carry<T>* carry) {
  using V = VectorOf<T>;
  using Vector = typename V::Type;
  using Lanes = std::make_integer_sequence<int, V::kLanes>;
  constexpr int64_t kSegment = 16;
  constexpr int kParts = kSegment / V::kLanes;
  const T start = carry->any ? carry->sum : T(-0.0);
  Vector before = start - Vector{};
  int64_t i = 0;
  for (; i + kSegment <= n; i += kSegment) {
    Vector part[kParts];
#pragma GCC unroll 8
    for (int k = 0; k < kParts; ++k) {
      Vector v = V::Load(in + i + k * V::kLanes);
      v = TakeLowerHalf<1>(v, Lanes{});
      if constexpr (V::kLanes > 2) v = TakeLowerHalf<2>(v, Lanes{});
      if constexpr (V::kLanes > 4) v = TakeLowerHalf<4>(v, Lanes{});
      if constexpr (V::kLanes > 8) v = TakeLowerHalf<8>(v, Lanes{});
      part[k] = v;
    }
#pragma GCC unroll 4
    for (int half = 1; half < kParts; half *= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < kParts; ++k) {
        if ((k & half) == 0) continue;
        part[k] += RepeatLast(part[(k & -half) - 1], Lanes{});
      }
    }
#pragma GCC unroll 8
    for (int k = 0; k < kParts; ++k) {
      V::Store(out + i + k * V::kLanes, part[k] + before);
    }
    before += RepeatLast(part[kParts - 1], Lanes{});
  }
  T sum = before[0];
  if (i < n) {  // the rest adds up in the same way
    alignas(64) T last[kSegment] = {};
    std::copy_n(in + i, n - i, last);
    Carry<T> rest{sum, true};
    SumInSegments(last, last, kSegment, &rest);
    std::copy_n(last, n - i, out + i);
    sum = out[n - 1];
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
  alignas(64) T piece[kTurn];
  Carry<T> before{};
  for (int64_t first = 0; first < n; first += kCut<Op> ? kChunk : n) {
    const int64_t end = kCut<Op> ? std::min(n, first + kChunk) : n;
    Carry<CarryOf<Op, T>> carry{};
    for (int64_t i = first; i < end; i += kTurn) {
      const int64_t count = std::min(kTurn, end - i);
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
// the totals before its chunk, and then writes, while it scans the next chunk
// that it took. A thread that does not get on (the machine has other work for
// its core) holds nobody up: who misses a total scans that chunk too.
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
    const Tensor memory = Tensor::Empty({3 * kChunk}, kDTypeOf<T>);
    T* scanned = memory.data<T>();  // chunk `mine`, not yet written
    T* chunk = scanned + kChunk;    // the one that is being scanned
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
    int64_t at = 0, mine = -1;
    while (true) {
      const int64_t k = next.fetch_add(1, std::memory_order_relaxed);
      for (; at < mine; ++at) {
        const T total = total_of(at);
        before = {before.any ? Op::Combine(before.sum, total) : total, true};
      }
      const int64_t to_scan = k < chunks ? length(k) : 0;
      const int64_t to_store = mine < 0 ? 0 : length(mine);
      Carry<T> carry{};
      for (int64_t i = 0; i < std::max(to_scan, to_store); i += kTurn) {
        if (i < to_scan) {
          ScanPart<Op>(in + k * kChunk + i, chunk + i,
                       std::min(kTurn, to_scan - i), &carry);
        }
        if (i < to_store) {
          Store<Op>(scanned + i, before, stream, std::min(kTurn, to_store - i),
                    out + mine * kChunk + i);
        }
      }
      if (k >= chunks) break;
      totals[k] = carry.sum;
      known[k].store(true, std::memory_order_release);
      std::swap(scanned, chunk);
      mine = k;
    }
    if (stream) StreamFence();
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
  constexpr int64_t kPart = 256, kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < n; ++i, in += inner, out += inner) {
    for (int64_t part = 0; i > 0 && part < width; part += kPart) {
      // The next row comes while this one is added: hardware does not look so
      // far ahead.
      const int64_t end = std::min(width, part + kPart);
      for (int64_t j = part; i + 1 < n && j < end; j += kLine) {
        __builtin_prefetch(in + inner + j);
      }
#pragma GCC ivdep
      for (int64_t j = part; j < end; ++j) {
        sum[j] = Op::Combine(sum[j], C(in[j]));
      }
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
      in != out && cpu::PaysToStream(2 * outer * n * inner *
                                     static_cast<int64_t>(sizeof(T)));
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
