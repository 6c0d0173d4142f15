// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/linalg/double_product.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using Doubles = VectorOf<double>;
using Vector = Doubles::Type;
constexpr int kLanes = Doubles::kLanes;

// A tile of C that stays in registers: kRows rows of kVectors vectors.
#if defined(__AVX512F__)
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = 3;
constexpr int kStrip = kVectors * kLanes;

// What is worked on at a time: a strip of B of that depth stays in the first
// cache, blocks of A and B in the second one.
constexpr int64_t kDepth = 256, kBlockRows = 96, kBlockColumns = 8 * kStrip;

// How a part of the sum over k goes into C.
enum class Into { kSet, kSetBias, kAdd };

struct Tile {
  int64_t k;
  const double* a;
  // Of A by rows: how far these are apart. By columns: how far groups of kRows
  // rows are.
  int64_t a_row;
  int64_t a_column;  // by columns
  const double* b;   // [k, columns], rows b_row apart
  int64_t b_row;
  const double* bias;
  double* c;
  int64_t c_row;
  Into into;
};

template <int R, int V, bool kByColumns>
void RunTile(const Tile& t) {
  Vector sums[R][V] = {};
  const double* rows[R];
  for (int r = 0; r < R; ++r) rows[r] = t.a + r * (kByColumns ? 1 : t.a_row);
  const double* b = t.b;
  for (int64_t q = 0; q < t.k; ++q, b += t.b_row) {
    Vector column[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) column[v] = Doubles::Load(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      // In every lane: x - 0 is x, while 0 + x would have to be computed.
      const Vector factor =
          (kByColumns ? t.a[q * t.a_column + r] : rows[r][q]) - Vector{};
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v)
        sums[r][v] = Doubles::MultiplyAdd(factor, column[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      double* const to = t.c + r * t.c_row + v * kLanes;
      Vector sum = sums[r][v];
      if (t.into == Into::kAdd) sum = Doubles::Load(to) + sum;
      if (t.into == Into::kSetBias)
        sum = sum + Doubles::Load(t.bias + v * kLanes);
      Doubles::Store(to, sum);
    }
  }
}

// Rows of a block of C, `V` vectors wide.
template <int V, bool kByColumns>
void RunRows(Tile t, int64_t rows) {
  int64_t i = 0;
  const auto next = [&](int count) {
    i += count;
    t.c += count * t.c_row;
    t.a += !kByColumns ? count * t.a_row : count == kRows ? t.a_row : count;
  };
  while (i + kRows <= rows) {
    RunTile<kRows, V, kByColumns>(t);
    next(kRows);
  }
  if (kRows == 8 && i + 4 <= rows) {
    RunTile<4, V, kByColumns>(t);
    next(4);
  }
  if (i + 2 <= rows) {
    RunTile<2, V, kByColumns>(t);
    next(2);
  }
  if (i < rows) RunTile<1, V, kByColumns>(t);
}

template <bool kByColumns>
void RunStrip(const Tile& t, int64_t rows, int64_t columns) {
  if (columns == 3 * kLanes) return RunRows<3, kByColumns>(t, rows);
  if (columns == 2 * kLanes) return RunRows<2, kByColumns>(t, rows);
  RunRows<1, kByColumns>(t, rows);
}

// Rows [0, rows) of A by groups of kRows: [group, k, kRows]. Rows that there
// are not keep what is there: no sum that is stored reads them.
void PackRows(const double* a, int64_t a_row, int64_t a_column, int64_t rows,
              int64_t k, double* to) {
  int64_t i = 0;
  if (a_row == 1) {
    // A block's groups at a time, so that memory is read in runs.
    constexpr int64_t kGroups = kBlockRows / kRows;
    for (; i + kRows <= rows; i += kGroups * kRows) {
      const int64_t groups = std::min(kGroups, (rows - i) / kRows);
      for (int64_t q = 0; q < k; ++q)
        for (int64_t g = 0; g < groups; ++g)
          std::memcpy(to + i * k + (g * k + q) * kRows,
                      a + i + g * kRows + q * a_column, kRows * sizeof(double));
      if (groups < kGroups) {
        i += groups * kRows;
        break;
      }
    }
  }
  for (; i < rows; i += kRows) {
    const int64_t count = std::min<int64_t>(kRows, rows - i);
    for (int64_t q = 0; q < k; ++q)
      for (int64_t r = 0; r < count; ++r)
        to[i * k + q * kRows + r] = a[(i + r) * a_row + q * a_column];
  }
}

// One step of the transpose of a square of kLanes vectors: swaps the blocks
// beside the diagonal of each square of 2 kHalf.
template <int kHalf, size_t... kLane>
void SwapBlocks(Vector* v, std::index_sequence<kLane...>) {
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; ++i) {
    if ((i & kHalf) != 0) continue;
    const Vector low = v[i], high = v[i + kHalf];
    v[i] = __builtin_shufflevector(
        low, high, (kLane & kHalf ? kLane - kHalf + kLanes : kLane)...);
    v[i + kHalf] = __builtin_shufflevector(
        low, high, (kLane & kHalf ? kLane + kLanes : kLane + kHalf)...);
  }
  if constexpr (kHalf > 1)
    SwapBlocks<kHalf / 2>(v, std::index_sequence<kLane...>());
}

// `columns` columns of B, of which there are `count`, zeros behind: [k,
// columns].
void PackColumns(const double* b, int64_t b_row, int64_t b_column,
                 int64_t count, int64_t columns, int64_t k, double* to) {
  if (b_column == 1) {
    for (int64_t q = 0; q < k; ++q) {
      if (count == kStrip) {
        std::memcpy(to + q * kStrip, b + q * b_row, kStrip * sizeof(double));
      } else {
        std::copy_n(b + q * b_row, count, to + q * columns);
        std::fill_n(to + q * columns + count, columns - count, 0.);
      }
    }
    return;
  }
  int64_t first = 0;
  if (b_row == 1) {
    for (; first + kLanes <= k; first += kLanes) {
      for (int64_t j = 0; j < columns; j += kLanes) {
        Vector square[kLanes] = {};
#pragma GCC unroll 8
        for (int l = 0; l < kLanes; ++l)
          if (j + l < count)
            square[l] = Doubles::Load(b + (j + l) * b_column + first);
        SwapBlocks<kLanes / 2>(square, std::make_index_sequence<kLanes>());
#pragma GCC unroll 8
        for (int l = 0; l < kLanes; ++l)
          Doubles::Store(to + (first + l) * columns + j, square[l]);
      }
    }
  }
  // Some of k at a time, so that what is written stays in the cache.
  constexpr int64_t kSome = 8;
  for (; first < k; first += kSome) {
    const int64_t end = std::min(k, first + kSome);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t q = first; q < end; ++q)
        to[q * columns + j] = j < count ? b[q * b_row + j * b_column] : 0.;
  }
}

// A strip at the right edge, which fills no vectors: by way of a tile of its
// own.
template <bool kByColumns>
void RunEdge(Tile t, int64_t rows, int64_t count, int64_t columns) {
  double edge[kRows * kStrip];
  double bias[kStrip] = {};
  if (t.into == Into::kSetBias) std::copy_n(t.bias, count, bias);
  Tile part = t;
  part.bias = bias;
  part.c = edge;
  part.c_row = columns;
  for (int64_t i = 0; i < rows; i += kRows) {
    const int64_t some = std::min<int64_t>(kRows, rows - i);
    part.a = t.a + (kByColumns ? i / kRows : i) * t.a_row;
    if (t.into == Into::kAdd) {
      for (int64_t r = 0; r < some; ++r) {
        std::copy_n(t.c + (i + r) * t.c_row, count, edge + r * columns);
        std::fill_n(edge + r * columns + count, columns - count, 0.);
      }
    }
    RunStrip<kByColumns>(part, some, columns);
    for (int64_t r = 0; r < some; ++r)
      std::copy_n(edge + r * columns, count, t.c + (i + r) * t.c_row);
  }
}

int64_t WholeVectors(int64_t columns) {
  return (columns + kLanes - 1) / kLanes * kLanes;
}

// Room for packed blocks, on the stack if they are small.
class Room {
 public:
  explicit Room(int64_t size) {
    if (size <= kSmall) return;
    // Vectors that lie across two lines of the cache take twice as long.
    constexpr size_t kLine = 64;
    size_t room = size * sizeof(double) + kLine;
    memory_.reset(new double[room / sizeof(double)]);
    void* begin = memory_.get();
    data_ = static_cast<double*>(
        std::align(kLine, size * sizeof(double), begin, room));
  }
  double* data() { return data_; }

 private:
  static constexpr int64_t kSmall = 2048;
  alignas(64) double small_[kSmall];
  std::unique_ptr<double[]> memory_;
  double* data_ = small_;
};

// Rows [0, rows) of some columns, over a part of k.
// B is packed, but whole strips of it where `b_row` is given.
template <bool kByColumns>
void RunBlock(const Tile& t, const double* b, int64_t b_row, int64_t rows,
              int64_t columns) {
  for (int64_t j = 0; j < columns; j += kStrip) {
    const int64_t count = std::min<int64_t>(kStrip, columns - j);
    const int64_t wide = WholeVectors(count);
    Tile strip = t;
    const bool direct = b != nullptr && count == kStrip;
    strip.b = direct ? b + j : t.b + j * t.k;
    strip.b_row = direct ? b_row : wide;
    strip.bias = t.bias == nullptr ? nullptr : t.bias + j;
    strip.c = t.c + j;
    if (wide == count) {
      RunStrip<kByColumns>(strip, rows, wide);
    } else {
      RunEdge<kByColumns>(strip, rows, count, wide);
    }
  }
}

}  // namespace

void MultiplyDoubles(const DoubleProduct& p) {
  const bool by_rows = p.a_column == 1;
  // A by columns is copied where they lie far apart and are read often.
  constexpr int64_t kFewColumns = 2 * kStrip, kNear = 1024;
  const bool packed =
      !by_rows && (p.a_row != 1 || (p.n > kFewColumns && p.a_column > kNear));
  // Few rows are not worth a copy of B.
  const bool direct = p.b_column == 1 && p.m <= 2 * kRows;
  const int64_t depth = std::min(p.k, kDepth);
  const int64_t columns = std::min(WholeVectors(p.n), kBlockColumns);
  const int64_t rows = (std::min(p.m, kBlockRows) + kRows - 1) / kRows * kRows;
  Room b_room(depth * columns), a_room(packed ? depth * rows : 0);
  for (int64_t j = 0; j < p.n; j += kBlockColumns) {
    const int64_t width = std::min(kBlockColumns, p.n - j);
    for (int64_t q = 0; q < p.k; q += kDepth) {
      Tile t = {};
      t.k = std::min(kDepth, p.k - q);
      t.b = b_room.data();
      t.c_row = p.c_row;
      t.into = p.accumulate || q > 0 ? Into::kAdd
               : p.bias != nullptr   ? Into::kSetBias
                                     : Into::kSet;
      t.bias = p.bias == nullptr ? nullptr : p.bias + j;
      const double* const b = p.b + q * p.b_row + j * p.b_column;
      for (int64_t s = 0; s < width; s += kStrip) {
        const int64_t count = std::min<int64_t>(kStrip, width - s);
        if (direct && count == kStrip) continue;
        PackColumns(b + s * p.b_column, p.b_row, p.b_column, count,
                    WholeVectors(count), t.k, b_room.data() + s * t.k);
      }
      for (int64_t i = 0; i < p.m; i += kBlockRows) {
        const int64_t height = std::min(kBlockRows, p.m - i);
        t.c = p.c + i * p.c_row + j;
        t.a = p.a + i * p.a_row + q * p.a_column;
        t.a_row = by_rows ? p.a_row : kRows;
        t.a_column = p.a_column;
        if (packed) {
          PackRows(t.a, p.a_row, p.a_column, height, t.k, a_room.data());
          t.a = a_room.data();
          t.a_row = t.k * kRows;
          t.a_column = kRows;
        }
        const auto run = by_rows ? RunBlock<false> : RunBlock<true>;
        run(t, direct ? b : nullptr, p.b_row, height, width);
      }
    }
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
