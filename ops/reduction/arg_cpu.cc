// Kernels of arg.yaml. Inputs are contiguous: [outer, n, inner], n the searched
// dim.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/primitives/cast_value.h"
#include "ops/primitives/cpu/elementwise.h"
#include "ops/primitives/cpu/reduce.h"
#include "ops/reduction/arg_kernels.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Whether `a` wins against `b`, an earlier element; of vectors, in each lane.
// The first NaN wins.
struct Larger {
  template <class T>
  PROA_HD static bool Wins(T a, T b) {
    return b == b && !(a <= b);
  }
  template <class V>
  static auto LanesWin(V a, V b) {
    return (b == b) & ~(a <= b);
  }
};
struct Smaller {
  template <class T>
  PROA_HD static bool Wins(T a, T b) {
    return b == b && !(a >= b);
  }
  template <class V>
  static auto LanesWin(V a, V b) {
    return (b == b) & ~(a >= b);
  }
};

// Vectors as wide as the registers; wider ones gcc takes apart badly. `Place`
// counts rows or steps in lanes as wide as the elements.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
template <class T>
struct Vectors {
  using Place = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  static constexpr int kLanes = kVectorBytes / sizeof(T);
  typedef T Values __attribute__((vector_size(kVectorBytes)));
  typedef Place Places __attribute__((vector_size(kVectorBytes)));

  static Values Load(const T* from) {
    Values v;
    std::memcpy(&v, from, sizeof(v));
    return v;
  }
};
template <class T>
inline constexpr bool kHasVectors =
    !kIsHalf<T> && (sizeof(T) == 4 || sizeof(T) == 8);

// The winner's value alone, where it does not matter which of equal ones it is.
template <class Order>
struct WinnerOf {
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    // One instruction, which gives b beside NaN.
    const T winner =
        std::is_same_v<Order, Larger> ? (a > b ? a : b) : (a < b ? a : b);
    return a != a ? a : winner;
  }
};

// Half types are compared as float.
template <class T>
using Compared = std::conditional_t<kIsHalf<T>, float, T>;

// First i < n with line[i] == wanted, or NaN if `wanted` is; n if there is
// none.
template <class T>
int64_t PlaceOf(const T* line, int64_t n, T wanted) {
  constexpr int64_t kAtOnce = 64;
  const auto is = [wanted](T v) {
    return v == wanted || (wanted != wanted && v != v);
  };
  int64_t i = 0;
  // Piece by piece: a loop that may end at any element does not vectorize.
  for (; i + kAtOnce <= n; i += kAtOnce) {
    int any = 0;
    for (int64_t j = 0; j < kAtOnce; ++j) any |= is(line[i + j]);
    if (any != 0) break;
  }
  while (i < n && !is(line[i])) ++i;
  return i;
}

// The winner's value first, in lanes, then its first place.
template <class Order, class T>
int64_t FindInShortLine(const T* line, int64_t n) {
  return PlaceOf(line, n, reduce_internal::FoldRun<WinnerOf<Order>>(line, n));
}

// The winner of each lane and its place, in one pass.
template <class Order, class T>
int64_t FindInLanes(const T* line, int64_t n) {
  using V = Vectors<T>;
  constexpr int kChains = 4;  // which need not wait for one another
  constexpr int64_t kStep = kChains * V::kLanes;
  typename V::Values best[kChains];
  typename V::Places at[kChains], step = {};
  for (int c = 0; c < kChains; ++c) {
    best[c] = V::Load(line + c * V::kLanes);
    at[c] = step;
  }
  int64_t i = kStep;
  for (; i + kStep <= n; i += kStep) {
    step += 1;
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      const auto v = V::Load(line + i + c * V::kLanes);
      const auto wins = Order::LanesWin(v, best[c]);
      best[c] = wins ? v : best[c];
      at[c] = wins ? step : at[c];
    }
  }
  T value[kStep];
  typename V::Place place[kStep];
  std::memcpy(value, best, sizeof(value));
  std::memcpy(place, at, sizeof(place));
  int64_t found = place[0] * kStep;
  T winner = value[0];
  const auto take = [&](T v, int64_t p) {
    // Of equal ones the first.
    if (Order::Wins(v, winner) || (!Order::Wins(winner, v) && p < found)) {
      winner = v;
      found = p;
    }
  };
  for (int64_t j = 1; j < kStep; ++j) take(value[j], place[j] * kStep + j);
  for (; i < n; ++i) take(line[i], i);
  return found;
}

template <class Order, class T>
int64_t FindInLine(const T* line, int64_t n) {
  // Up to this the lanes cost more than a second look at the line.
  constexpr int64_t kShort = 512;
  if (n <= kShort) return FindInShortLine<Order>(line, n);
  if constexpr (kHasVectors<T>) {
    constexpr int64_t kPiece = int64_t{1} << 30;  // that Place counts
    int64_t found = 0;
    for (int64_t i = 0; i < n; i += kPiece) {
      const int64_t count = std::min(kPiece, n - i);
      const int64_t p =
          i + (count <= kShort ? FindInShortLine<Order>(line + i, count)
                               : FindInLanes<Order>(line + i, count));
      if (Order::Wins(line[p], line[found])) found = p;
    }
    return found;
  } else {
    constexpr int64_t kPiece = 4096;
    T best = line[0];
    int64_t piece = 0;
    for (int64_t i = 0; i < n; i += kPiece) {
      const T v = reduce_internal::FoldRun<WinnerOf<Order>>(
          line + i, std::min(kPiece, n - i));
      if (Order::Wins(v, best)) {
        best = v;
        piece = i;
      }
    }
    return piece + PlaceOf(line + piece, n - piece, best);
  }
}

template <class Order, class T>
int64_t FindOneByOne(const T* line, int64_t n) {
  auto best = static_cast<Compared<T>>(line[0]);
  int64_t found = 0;
  for (int64_t i = 1; i < n; ++i) {
    const auto v = static_cast<Compared<T>>(line[i]);
    if (Order::Wins(v, best)) {
      best = v;
      found = i;
    }
  }
  return found;
}

// Along a line: half types one by one.
template <class Order, class T>
int64_t FindAlong(const T* line, int64_t n) {
  if constexpr (kIsHalf<T>) {
    return FindOneByOne<Order>(line, n);
  } else {
    return FindInLine<Order>(line, n);
  }
}

// One long line, in pieces for several threads. The winner of the earlier piece
// stays unless a later one beats it.
template <class Order, class T>
int64_t FindInLongLine(const T* line, int64_t n) {
  constexpr int64_t kTask = 65536;
  std::vector<int64_t> found((n + kTask - 1) / kTask);
  parallel_chunks(n, kTask, [&](int64_t task, int64_t begin, int64_t end) {
    found[task] = begin + FindAlong<Order>(line + begin, end - begin);
  });
  int64_t best = found[0];
  for (const int64_t i : found) {
    if (Order::Wins(static_cast<Compared<T>>(line[i]),
                    static_cast<Compared<T>>(line[best]))) {
      best = i;
    }
  }
  return best;
}

// Lane l: element l * kN + kColumn of kN vectors that lie one behind the other.
template <class V, int kN, int kColumn, int... l>
typename V::Values Column(const typename V::Values (&v)[kN],
                          std::integer_sequence<int, l...>) {
  constexpr int kTwo = 2 * V::kLanes, kThree = 3 * V::kLanes;
  // One vector after the other gives the lanes whose elements it holds; until
  // then a lane is of no meaning.
  auto c = __builtin_shufflevector(
      v[0], v[1], (l * kN + kColumn < kTwo ? l * kN + kColumn : 0)...);
  if constexpr (kN > 2) {
    c = __builtin_shufflevector(
        c, v[2],
        (l * kN + kColumn < kTwo     ? l
         : l * kN + kColumn < kThree ? l * kN + kColumn - V::kLanes
                                     : 0)...);
  }
  if constexpr (kN > 3) {
    c = __builtin_shufflevector(
        c, v[3], (l * kN + kColumn < kThree ? l : l * kN + kColumn - kTwo)...);
  }
  return c;
}

// As many lines of kN elements as there are lanes.
template <class Order, int kN, class T, class I, int... i>
void FindInLaneLines(const T* data, I* found,
                     std::integer_sequence<int, i...>) {
  using V = Vectors<T>;
  constexpr auto kEach = std::make_integer_sequence<int, V::kLanes>();
  typename V::Values v[kN];
  for (int k = 0; k < kN; ++k) v[k] = V::Load(data + k * V::kLanes);
  auto best = Column<V, kN, 0>(v, kEach);
  typename V::Places at = {};
  const auto take = [&](auto values, typename V::Place place) {
    const auto wins = Order::LanesWin(values, best);
    best = wins ? values : best;
    at = wins ? typename V::Places{} + place : at;
  };
  (take(Column<V, kN, i + 1>(v, kEach), i + 1), ...);
  typedef I Found __attribute__((vector_size(V::kLanes * sizeof(I))));
  const auto out = __builtin_convertvector(at, Found);
  std::memcpy(found, &out, sizeof(out));
}

// Lines of kN elements one behind the other: lines are lanes, by shuffles, for
// which gcc alone goes element by element.
template <class Order, int kN, class T, class I>
void FindInShortLines(const T* data, int64_t lines, I* found) {
  int64_t r = 0;
  if constexpr (kHasVectors<T>) {
    constexpr int64_t kLanes = Vectors<T>::kLanes;
    for (; r + kLanes <= lines; r += kLanes)
      FindInLaneLines<Order, kN>(data + r * kN, found + r,
                                 std::make_integer_sequence<int, kN - 1>());
  }
#pragma GCC ivdep
  for (; r < lines; ++r) {
    auto best = static_cast<Compared<T>>(data[r * kN]);
    int32_t at = 0;
#pragma GCC unroll 8
    for (int32_t i = 1; i < kN; ++i) {
      const auto v = static_cast<Compared<T>>(data[r * kN + i]);
      const bool wins = Order::Wins(v, best);
      best = wins ? v : best;
      at = wins ? i : at;
    }
    found[r] = at;
  }
}

template <class Order, class T, class I>
void FindInLines(const T* data, int64_t lines, int64_t n, I* found) {
  switch (n) {
    case 2:
      return FindInShortLines<Order, 2>(data, lines, found);
    case 3:
      return FindInShortLines<Order, 3>(data, lines, found);
    case 4:
      return FindInShortLines<Order, 4>(data, lines, found);
    default:
      break;
  }
  for (int64_t r = 0; r < lines; ++r, data += n) {
    found[r] = static_cast<I>(n < 16 ? FindOneByOne<Order>(data, n)
                                     : FindAlong<Order>(data, n));
  }
}

// Columns side by side, `width` <= kStrip of them: as many as make rows of a
// page, so that memory is read in runs. Row numbers as wide as the elements
// keep vectors full.
constexpr int64_t kStrip = 1024;
template <class T>
struct Strip {
  using C = Compared<T>;
  using Row = std::conditional_t<sizeof(C) == 8, int64_t, int32_t>;
  alignas(64) C best[kStrip];
  alignas(64) Row at[kStrip];
};

// Takes in rows [begin, end), columns [j, width), one row after the other.
template <class Order, class T>
void TakeRows(const T* rows, int64_t inner, int64_t begin, int64_t end,
              int64_t j, int64_t width, Strip<T>* s) {
  using C = typename Strip<T>::C;
  using Row = typename Strip<T>::Row;
  for (int64_t i = begin; i < end; ++i) {
    const T* row = rows + i * inner;
#pragma GCC ivdep
    for (int64_t k = j; k < width; ++k) {
      const C v = static_cast<C>(row[k]);
      const bool wins = Order::Wins(v, s->best[k]);
      s->best[k] = wins ? v : s->best[k];
      s->at[k] = wins ? static_cast<Row>(i) : s->at[k];
    }
  }
}

// The same, several rows at a time in vectors: fewer trips to the strip.
template <class Order, class T>
void TakeRowsInVectors(const T* rows, int64_t inner, int64_t n, int64_t width,
                       Strip<T>* s) {
  using V = Vectors<T>;
  constexpr int kAtOnce = 8;
  const int64_t whole = width - width % V::kLanes;
  int64_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    const T* row = rows + i * inner;
    const typename V::Places first =
        typename V::Places{} + static_cast<typename V::Place>(i);
    for (int64_t j = 0; j < whole; j += V::kLanes) {
      auto best = V::Load(s->best + j);
      typename V::Places at;
      std::memcpy(&at, s->at + j, sizeof(at));
#pragma GCC unroll 8
      for (int k = 0; k < kAtOnce; ++k) {
        const auto v = V::Load(row + k * inner + j);
        const auto wins = Order::LanesWin(v, best);
        best = wins ? v : best;
        at = wins ? first + k : at;
      }
      std::memcpy(s->best + j, &best, sizeof(best));
      std::memcpy(s->at + j, &at, sizeof(at));
    }
  }
  TakeRows<Order>(rows, inner, i, n, 0, whole, s);
  TakeRows<Order>(rows, inner, 0, n, whole, width, s);
}

template <class Order, class T, class I>
void FindInColumns(const T* rows, int64_t n, int64_t inner, int64_t width,
                   I* found) {
  constexpr int64_t kMostRows = int64_t{1} << 30;  // that Row counts
  Strip<T> s;
  for (int64_t j = 0; j < width; ++j) {
    s.best[j] = static_cast<Compared<T>>(rows[j]);
    found[j] = 0;
  }
  for (int64_t first = 0; first < n; first += kMostRows) {
    std::fill_n(s.at, width, -1);
    const int64_t count = std::min(kMostRows, n - first);
    if constexpr (kHasVectors<T>) {
      TakeRowsInVectors<Order>(rows + first * inner, inner, count, width, &s);
    } else {
      TakeRows<Order>(rows + first * inner, inner, 0, count, 0, width, &s);
    }
    for (int64_t j = 0; j < width; ++j) {
      if (s.at[j] >= 0) found[j] = static_cast<I>(first + s.at[j]);
    }
  }
}

template <class Order, class T, class I>
void FindIn(const T* data, int64_t outer, int64_t n, int64_t inner, I* found) {
  if (outer == 1 && inner == 1) {
    found[0] = static_cast<I>(FindInLongLine<Order>(data, n));
    return;
  }
  const int64_t strips = (inner + kStrip - 1) / kStrip;
  const int64_t work = std::max<int64_t>(1, n * std::min(inner, kStrip));
  parallel_for(0, outer * strips, std::max<int64_t>(1, kSerialCost / work),
               [&](int64_t begin, int64_t end) {
                 if (inner == 1) {
                   return FindInLines<Order>(data + begin * n, end - begin, n,
                                             found + begin);
                 }
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t o = task / strips,
                                 column = task % strips * kStrip;
                   FindInColumns<Order>(data + o * n * inner + column, n, inner,
                                        std::min(kStrip, inner - column),
                                        found + o * inner + column);
                 }
               });
}

template <class Order>
void Find(const Tensor& x, std::optional<int64_t> axis, Tensor* out) {
  if (out->numel() == 0) return;
  int64_t outer = 1, n = x.numel(), inner = 1;
  if (axis.has_value() && x.rank() > 0) {
    const int a = static_cast<int>(*axis < 0 ? *axis + x.rank() : *axis);
    n = x.size(a);
    for (int d = 0; d < a; ++d) outer *= x.size(d);
    for (int d = a + 1; d < x.rank(); ++d) inner *= x.size(d);
  }
  VisitDType(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!kIsComplex<T> && !std::is_same_v<T, bool>) {
      if (out->dtype() == DType::kInt64) {
        FindIn<Order>(x.data<T>(), outer, n, inner, out->data<int64_t>());
      } else {
        FindIn<Order>(x.data<T>(), outer, n, inner, out->data<int32_t>());
      }
    }
  });
}

}  // namespace

void Argmax(const KernelContext&, const Tensor& x, std::optional<int64_t> axis,
            bool, DType, Tensor* out) {
  Find<Larger>(x, axis, out);
}

void Argmin(const KernelContext&, const Tensor& x, std::optional<int64_t> axis,
            bool, DType, Tensor* out) {
  Find<Smaller>(x, axis, out);
}

}  // namespace proa::inline v0::ops::PROA_ISA
