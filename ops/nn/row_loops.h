// Loops along one axis of a tensor, for kernels compiled once per instruction
// set: rows of float or double, whatever the dtype and the strides of the axis.
//
// A tensor is [outer, size, inner] with the axis in the middle; row r is the
// line through (r / inner, :, r % inner). Rows that are not dense float or
// double are packed into a buffer (dense ones by the conversions of blocks.h),
// worked on, and unpacked. Sums go over lanes and add up in a fixed order: the
// bits depend neither on threads nor on the instruction set.
#ifndef PROA_OPS_NN_ROW_LOOPS_H_
#define PROA_OPS_NN_ROW_LOOPS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include "ops/nn/float_copy.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/streaming.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"
#include "ops/primitives/vector_math_double.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {

PROA_HD float Exp(float x) { return vmath::Exp(x); }
PROA_HD double Exp(double x) { return vmath::Exp(x); }
PROA_HD float Log(float x) { return vmath::Log(x); }
PROA_HD double Log(double x) { return vmath::Log(x); }

// Lanes that sums and maxima run in: an addition waits for the one before it in
// its lane, so long rows use several vectors side by side. Loops over 16 lanes
// or fewer gcc unrolls before it looks for vectors, and then finds few.
inline constexpr int kLanes = 32, kWideLanes = 64;
inline constexpr int64_t kWideRow = 512;

namespace row_internal {

struct Plus {
  template <typename A>
  static A Of(A a, A b) {
    return a + b;
  }
};
struct Larger {
  template <typename A>
  static A Of(A a, A b) {
    return b > a ? b : a;
  }
};

// The lanes as one, halved again and again. Each half is an array of its own,
// so that it is a register.
template <typename Op, typename A, int kN>
inline A Fold(const A (&lanes)[kN]) {
  if constexpr (kN == 1) {
    return lanes[0];
  } else {
    A half[kN / 2];
    for (int l = 0; l < kN / 2; ++l)
      half[l] = Op::Of(lanes[l], lanes[l + kN / 2]);
    return Fold<Op>(half);
  }
}

// f(i) for i in [0, n), each in its lane on top of `first`, then all lanes.
template <typename Op, int kN, typename A, typename F>
inline A FoldInLanes(int64_t n, A first, F&& f) {
  A lanes[kN];
  for (int l = 0; l < kN; ++l) lanes[l] = first;
  int64_t i = 0;
  for (; i + kN <= n; i += kN)
    for (int l = 0; l < kN; ++l) lanes[l] = Op::Of(lanes[l], f(i + l));
  if (i == n) return Fold<Op>(lanes);
  // A copy, which is indexed by variables, so that `lanes` stay in registers.
  alignas(64) A rest[kN];
  for (int l = 0; l < kN; ++l) rest[l] = lanes[l];
  for (int l = 0; i < n; ++i, ++l) rest[l] = Op::Of(rest[l], f(i));
  return Fold<Op>(rest);
}

}  // namespace row_internal

// Sum of f(i) for i in [0, n).
template <typename A, typename F>
inline A SumOver(int64_t n, F&& f) {
  using row_internal::FoldInLanes, row_internal::Plus;
  return n < kWideRow ? FoldInLanes<Plus, kLanes>(n, A(0), f)
                      : FoldInLanes<Plus, kWideLanes>(n, A(0), f);
}

// Largest x[i]; NaN is passed over. n > 0.
template <typename A>
inline A MaxOver(int64_t n, const A* x) {
  using row_internal::FoldInLanes, row_internal::Larger;
  const auto f = [x](int64_t i) { return x[i]; };
  return n < kWideRow ? FoldInLanes<Larger, kLanes>(n, x[0], f)
                      : FoldInLanes<Larger, kWideLanes>(n, x[0], f);
}

struct AxisLayout {
  int64_t outer = 1, size = 1, inner = 1;
  int64_t rows() const { return outer * inner; }
};

// Of a dense tensor; a 0-d tensor has one axis of size 1.
inline AxisLayout LayoutOf(const Tensor& t, int64_t axis) {
  AxisLayout l;
  const int rank = t.rank();
  if (rank == 0) return l;
  const int at = static_cast<int>(axis < 0 ? axis + rank : axis);
  for (int d = 0; d < at; ++d) l.outer *= t.size(d);
  l.size = t.size(at);
  for (int d = at + 1; d < rank; ++d) l.inner *= t.size(d);
  return l;
}

// Memory for `count` rows, each from the beginning of a cache line on: else
// every second access of a vector would cross the end of one, and loops over
// rows in the L1 cache would take half as long again.
template <typename A>
class RowBuffer {
 public:
  RowBuffer(int64_t count, int64_t size)
      : size_((size + kLine - 1) / kLine * kLine),
        data_(static_cast<A*>(
            ::operator new(count* size_ * sizeof(A), kAlignment))) {}
  RowBuffer(const RowBuffer&) = delete;
  RowBuffer& operator=(const RowBuffer&) = delete;
  ~RowBuffer() { ::operator delete(data_, kAlignment); }
  A* operator[](int64_t row) const { return data_ + row * size_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr int64_t kLine = 64 / sizeof(A);
  int64_t size_;
  A* data_;
};

// n elements as A = Accumulate<T>::type: themselves, or converted into
// `buffer`.
template <typename T, typename A>
inline const A* Widened(const T* x, int64_t n, A* buffer) {
  if constexpr (std::is_same_v<T, A>) {
    return x;
  } else {
    FindConvert(kDTypeOf<T>, kDTypeOf<A>)(x, buffer, n);
    return buffer;
  }
}
// The way back, for T that is not A.
template <typename T, typename A>
inline void Narrow(const A* x, int64_t n, T* to) {
  FindConvert(kDTypeOf<A>, kDTypeOf<T>)(x, to, n);
}

// Rows packed at a time: their elements share cache lines.
inline constexpr int64_t kRowsPerPack = 16;

template <typename T, typename A>
void PackRows(const AxisLayout& l, const T* x, int64_t row, int64_t rows,
              A* to) {
  const T* from = x + row / l.inner * l.size * l.inner + row % l.inner;
  for (int64_t i = 0; i < l.size; ++i)
    for (int64_t r = 0; r < rows; ++r)
      to[r * l.size + i] = static_cast<A>(from[i * l.inner + r]);
}
template <typename T, typename A>
void UnpackRows(const AxisLayout& l, const A* from, int64_t row, int64_t rows,
                T* x) {
  T* to = x + row / l.inner * l.size * l.inner + row % l.inner;
  for (int64_t i = 0; i < l.size; ++i)
    for (int64_t r = 0; r < rows; ++r)
      to[i * l.inner + r] = T(from[r * l.size + i]);
}

// Bytes of the longest row that may be stored past the caches at once.
inline constexpr int64_t kMostStreamed = 1 << 18;

// Whether rows of results should be made in a buffer, which stays in the cache,
// and be stored from there past the caches.
template <typename T, int kInputs>
bool RowsPayToStream(const AxisLayout& l, const T* const (&in)[kInputs],
                     const T* out) {
  constexpr int64_t kLeast = 1 << 10;  // bytes of a row
  const int64_t row = l.size * static_cast<int64_t>(sizeof(T));
  if (out == nullptr || row < kLeast || row > kMostStreamed) return false;
  if (std::find(in, in + kInputs, out) != in + kInputs) return false;
  return cpu::PaysToStream((kInputs + 1) * l.outer * row);
}

// Calls rows(in, count, out) for dense rows of l.size elements, some behind
// each other at a time, in parallel: `in` and `out` are those of `count` rows
// of A = Accumulate<T>::type. l.inner is 1, or 0; `out` may be x.
template <typename T, typename F>
void ForEachRun(const AxisLayout& l, const T* x, T* out, F&& rows) {
  using A = typename Accumulate<T>::type;
  constexpr int64_t kRun = 4096;  // elements, which stay in the L1 cache
  const int64_t n = l.size;
  if (l.rows() == 0 || n == 0) return;
  const int64_t together = std::max<int64_t>(1, kRun / n);
  const int64_t runs = (l.outer + together - 1) / together;
  const bool stream =
      n * static_cast<int64_t>(sizeof(T)) <= kMostStreamed && x != out &&
      cpu::PaysToStream(2 * l.outer * n * static_cast<int64_t>(sizeof(T)));
  constexpr bool kSame = std::is_same_v<T, A>;
  const int64_t grain = std::max<int64_t>(1, 8192 / (together * n));
  parallel_for(0, runs, grain, [&](int64_t begin, int64_t end) {
    const RowBuffer<A> buffer(kSame && !stream ? 0 : 2, together * n);
    for (int64_t k = begin; k < end; ++k) {
      const int64_t first = k * together;
      const int64_t count = std::min(together, l.outer - first);
      T* const to = out + first * n;
      const A* const in = Widened(x + first * n, count * n, buffer[0]);
      if constexpr (kSame) {
        A* const result = stream ? buffer[1] : to;
        rows(in, count, result);
        if (stream) StreamCopy(to, result, count * n * sizeof(T));
      } else {
        rows(in, count, buffer[1]);
        Narrow(buffer[1], count * n, to);
      }
    }
    if (stream) StreamFence();
  });
}

// Calls row(r, in, out) for every row r, in parallel, with `in` an array of
// kInputs rows of A = Accumulate<T>::type, and `out` the row of `out` to write,
// or null if `out` is null. All tensors have layout `l`.
template <typename T, int kInputs, typename F>
void ForEachRow(const AxisLayout& l, const T* const (&in)[kInputs], T* out,
                F&& row) {
  using A = typename Accumulate<T>::type;
  if (l.rows() == 0 || l.size == 0) return;
  const int64_t grain = std::max<int64_t>(1, 8192 / l.size);
  if (l.inner == 1) {
    const bool stream = RowsPayToStream<T, kInputs>(l, in, out);
    parallel_for(0, l.outer, grain, [&](int64_t begin, int64_t end) {
      const RowBuffer<A> buffer(
          std::is_same_v<T, A> && !stream ? 0 : kInputs + 1, l.size);
      for (int64_t r = begin; r < end; ++r) {
        const A* rows[kInputs];
        for (int k = 0; k < kInputs; ++k)
          rows[k] = Widened(in[k] + r * l.size, l.size, buffer[k]);
        if (out == nullptr) {
          row(r, rows, static_cast<A*>(nullptr));
        } else if constexpr (std::is_same_v<T, A>) {
          T* const to = out + r * l.size;
          A* const result = stream ? buffer[kInputs] : to;
          row(r, rows, result);
          if (stream) StreamCopy(to, result, l.size * sizeof(T));
        } else {
          A* const result = buffer[kInputs];
          row(r, rows, result);
          Narrow(result, l.size, out + r * l.size);
        }
      }
      if (stream) StreamFence();
    });
    return;
  }
  // Packs are within one `outer`, so that they are rectangles in memory.
  const int64_t packs = (l.inner + kRowsPerPack - 1) / kRowsPerPack;
  parallel_for(
      0, l.outer * packs, (grain + kRowsPerPack - 1) / kRowsPerPack,
      [&](int64_t begin, int64_t end) {
        const int64_t pack_size = std::min(kRowsPerPack, l.inner) * l.size;
        std::vector<A> buffer(pack_size * (kInputs + 1));
        A* const result = buffer.data() + pack_size * kInputs;
        for (int64_t p = begin; p < end; ++p) {
          const int64_t first = p / packs * l.inner + p % packs * kRowsPerPack;
          const int64_t count =
              std::min(kRowsPerPack, l.inner - p % packs * kRowsPerPack);
          for (int k = 0; k < kInputs; ++k)
            PackRows(l, in[k], first, count, buffer.data() + k * pack_size);
          for (int64_t r = 0; r < count; ++r) {
            const A* rows[kInputs];
            for (int k = 0; k < kInputs; ++k)
              rows[k] = buffer.data() + k * pack_size + r * l.size;
            row(first + r, rows,
                out != nullptr ? result + r * l.size : nullptr);
          }
          if (out != nullptr) UnpackRows(l, result, first, count, out);
        }
      });
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_NN_ROW_LOOPS_H_
