// Sorting lines of a tensor: stable order of (value, index) pairs, NaN above
// every number, the choice of the k first ones.
//
// A line is the n elements along one axis, `stride` elements apart. Values are
// turned into unsigned keys of the same order, so that one radix sort and one
// comparison serve all types, floats with NaN included.
#ifndef PROA_OPS_PRIMITIVES_CPU_SORT_H_
#define PROA_OPS_PRIMITIVES_CPU_SORT_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cpu {

// Types that sort as themselves or through float.
template <typename T>
inline constexpr bool kSortable =
    std::is_arithmetic_v<T> || std::is_same_v<T, float16> ||
    std::is_same_v<T, bfloat16>;

// An unsigned number of the same order as `v`: a < b exactly if key(a) <
// key(b). All NaNs have the largest key, -0 and 0 the same.
template <typename T>
auto SortKey(T v) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<uint8_t>(static_cast<int>(v) -
                                std::numeric_limits<T>::min());
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(static_cast<U>(v) ^ (U{1} << (8 * sizeof(T) - 1)));
  } else {
    // Without branches: signs of data are not to be predicted.
    using U = std::conditional_t<
        sizeof(T) == 2, uint16_t,
        std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(T) - 1));
    const U infinity = std::bit_cast<U>(std::numeric_limits<T>::infinity());
    const U bits = std::bit_cast<U>(v);
    const U negative =
        static_cast<U>(-static_cast<U>(bits >> (8 * sizeof(T) - 1)));
    const U nan = static_cast<U>(-static_cast<U>((bits & ~kSign) > infinity));
    const U minus_zero = static_cast<U>(bits == kSign);
    return static_cast<U>(((bits ^ (negative | kSign)) + minus_zero) | nan);
  }
}

template <typename T>
using KeyOf = decltype(SortKey(T()));

template <typename Key>
struct KeyIndex {
  Key key;
  int64_t index;
};

template <typename Key>
bool IsBefore(const KeyIndex<Key>& a, const KeyIndex<Key>& b) {
  return a.key < b.key || (a.key == b.key && a.index < b.index);
}

// Sorts stably by key: by comparison if few, else by radix, one byte at a time,
// bytes that all keys share left out. `scratch` is used as the other buffer.
template <typename Key>
void SortByKey(std::vector<KeyIndex<Key>>* items,
               std::vector<KeyIndex<Key>>* scratch) {
  const int64_t n = static_cast<int64_t>(items->size());
  if (n < 256) return std::sort(items->begin(), items->end(), IsBefore<Key>);
  scratch->resize(n);
  for (size_t byte = 0; byte < sizeof(Key); ++byte) {
    const int shift = static_cast<int>(8 * byte);
    int64_t starts[257] = {};
    for (const auto& item : *items) ++starts[((item.key >> shift) & 0xff) + 1];
    bool shared = false;
    for (int b = 0; b < 256; ++b) shared |= starts[b + 1] == n;
    if (shared) continue;
    for (int b = 0; b < 256; ++b) starts[b + 1] += starts[b];
    for (const auto& item : *items)
      (*scratch)[starts[(item.key >> shift) & 0xff]++] = item;
    items->swap(*scratch);
  }
}

// The lines of a contiguous tensor along an axis.
struct Lines {
  int64_t count = 1;   // number of lines
  int64_t n = 1;       // elements of one
  int64_t stride = 1;  // between them, in elements

  Lines(const Shape& shape, int axis) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (i == axis)
        n = shape[i];
      else
        count *= shape[i];
      if (i > axis) stride *= shape[i];
    }
  }
  // Offset of the first element of line `i` of a tensor like this one, but with
  // `m` elements along the axis.
  int64_t Start(int64_t i, int64_t m) const {
    return i / stride * stride * m + i % stride;
  }
};

// Sorts each line (falling if `descending`; equal elements keep their order
// either way) and calls f(line, items) with the pairs of key and index in
// order.
template <typename T, typename F>
void SortLines(const T* x, const Lines& lines, bool descending, F f) {
  using Key = KeyOf<T>;
  if (lines.n == 0) return;
  const int64_t grain = std::max<int64_t>(1, 2048 / lines.n);
  parallel_for(0, lines.count, grain, [&](int64_t begin, int64_t end) {
    std::vector<KeyIndex<Key>> items(lines.n), scratch;
    for (int64_t line = begin; line < end; ++line) {
      const T* from = x + lines.Start(line, lines.n);
      for (int64_t i = 0; i < lines.n; ++i) {
        const Key key = SortKey(from[i * lines.stride]);
        items[i] = {descending ? static_cast<Key>(~key) : key, i};
      }
      SortByKey(&items, &scratch);
      f(line, items);
    }
  });
}

// Elements that are looked at together.
inline constexpr int64_t kSelectBlock = 16;

// From i on, the first block of the n elements that has one before `last` or a
// NaN; where the blocks end if there is none.
template <typename T>
int64_t SkipBlocks(const T* from, int64_t i, int64_t n, T last,
                   bool descending) {
  typedef T Vector __attribute__((vector_size(16)));
  constexpr int64_t kLanes = 16 / sizeof(T);
  const Vector limit = last - Vector{};
  for (; i + kSelectBlock <= n; i += kSelectBlock) {
    Vector v[kSelectBlock / kLanes];
    std::memcpy(v, from + i, sizeof(v));
    auto all = descending ? v[0] <= limit : v[0] >= limit;
#pragma GCC unroll 8
    for (int64_t k = 1; k < kSelectBlock / kLanes; ++k)
      all &= descending ? v[k] <= limit : v[k] >= limit;
    int64_t halves[2];
    std::memcpy(halves, &all, sizeof(halves));
    if ((halves[0] & halves[1]) != -1) return i;
  }
  return i;
}

// The k first ones of n elements, in order, into items[0, k); k <= n. For a few
// of many: each element is compared with the last of them, and seldom taken.
template <typename T>
void SelectFew(const T* from, int64_t stride, int64_t n, int64_t k,
               bool descending, KeyIndex<KeyOf<T>>* items) {
  using Key = KeyOf<T>;
  constexpr int64_t kInOrder = 32;  // more stand in a heap, the last on top
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      if (i % kSelectBlock == 0 && count == k && stride == 1) {
        const T last = from[items[k > kInOrder ? 0 : k - 1].index];
        i = SkipBlocks(from, i, n, last, descending);
        if (i == n) break;
      }
    }
    const T v = from[i * stride];
    if constexpr (std::is_arithmetic_v<T>) {
      // Quicker than by keys; a NaN on either side is left to them.
      if (count == k) {
        const T last = from[items[k > kInOrder ? 0 : k - 1].index * stride];
        if (descending ? v <= last : v >= last) continue;
      }
    }
    Key key = SortKey(v);
    if (descending) key = static_cast<Key>(~key);
    if (k > kInOrder) {
      if (count == k) {
        if (key >= items[0].key) continue;
        std::pop_heap(items, items + count--, IsBefore<Key>);
      }
      items[count++] = {key, i};
      std::push_heap(items, items + count, IsBefore<Key>);
      continue;
    }
    if (count == k && key >= items[k - 1].key) continue;
    int64_t at = count < k ? count++ : k - 1;
    for (; at > 0 && key < items[at - 1].key; --at) items[at] = items[at - 1];
    items[at] = {key, i};
  }
  if (k > kInOrder) std::sort_heap(items, items + k, IsBefore<Key>);
}

// The k first pairs of each line in that order, without sorting the rest.
template <typename T, typename F>
void SelectLines(const T* x, const Lines& lines, int64_t k, bool descending,
                 F f) {
  using Key = KeyOf<T>;
  if (lines.n == 0 || k == 0) return;
  const bool few = k <= lines.n / (k <= 32 ? 4 : 16);
  const int64_t grain = std::max<int64_t>(1, 8192 / lines.n);
  parallel_for(0, lines.count, grain, [&](int64_t begin, int64_t end) {
    std::vector<KeyIndex<Key>> items(few ? k : 0);
    for (int64_t line = begin; line < end; ++line) {
      const T* from = x + lines.Start(line, lines.n);
      if (few) {
        SelectFew(from, lines.stride, lines.n, k, descending, items.data());
        f(line, items);
        continue;
      }
      items.resize(lines.n);
      for (int64_t i = 0; i < lines.n; ++i) {
        const Key key = SortKey(from[i * lines.stride]);
        items[i] = {descending ? static_cast<Key>(~key) : key, i};
      }
      if (k < lines.n) {
        std::nth_element(items.begin(), items.begin() + (k - 1), items.end(),
                         IsBefore<Key>);
        items.resize(k);
      }
      std::sort(items.begin(), items.end(), IsBefore<Key>);
      f(line, items);
    }
  });
}

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_PRIMITIVES_CPU_SORT_H_
