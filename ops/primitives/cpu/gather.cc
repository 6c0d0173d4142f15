#include "ops/primitives/cpu/gather.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "ops/primitives/cpu/strided_copy.h"
#include "ops/primitives/item_size.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Rows ahead that are fetched while one is moved: indices jump, so the hardware
// cannot know them.
constexpr int64_t kAhead = 16;

// Elements of simple arithmetic that are worth a piece of a parallel loop.
constexpr int64_t kGrain = 32768;

// Rows of one machine word are moved as such, others by memcpy.
template <typename T>
void GatherItems(int64_t n, std::span<const int64_t> index, const void* x,
                 void* out, int64_t begin, int64_t end) {
  const int64_t count = static_cast<int64_t>(index.size());
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(out);
  for (int64_t r = begin; r < end;) {
    const int64_t o = r / count, k = r % count;
    const int64_t stop = std::min(end, r - k + count);
    const T* base = from + o * n;
    const int64_t* i = index.data() + k;
    for (; r < stop; ++r) to[r] = base[*i++];
  }
}

// Rows of any size.
void GatherBytes(int64_t n, int64_t row_bytes, std::span<const int64_t> index,
                 const char* x, char* out, int64_t begin, int64_t end) {
  const int64_t count = static_cast<int64_t>(index.size());
  for (int64_t r = begin; r < end;) {
    const int64_t o = r / count;
    const int64_t stop = std::min(end, (o + 1) * count);
    const char* base = x + o * n * row_bytes;
    for (int64_t k = r - o * count; r < stop; ++r, ++k) {
      if (k + kAhead < count)
        __builtin_prefetch(base + index[k + kAhead] * row_bytes);
      std::memcpy(out + r * row_bytes, base + index[k] * row_bytes, row_bytes);
    }
  }
}

// Calls f(o, k, i, begin, end) so that destination elements [begin, end) of row
// (o, i) are written by one thread, in the order of k.
template <typename F>
void ForEachDestination(int64_t outer, int64_t n, int64_t inner,
                        std::span<const int64_t> index, int64_t item_size,
                        F f) {
  const int64_t count = static_cast<int64_t>(index.size());
  if (outer == 0 || count == 0 || inner == 0) return;
  const auto rows = [&](int64_t o_begin, int64_t o_end, int64_t begin,
                        int64_t end) {
    for (int64_t o = o_begin; o < o_end; ++o) {
      for (int64_t k = 0; k < count; ++k) f(o, k, index[k], begin, end);
    }
  };
  const double work = static_cast<double>(outer) * count * inner;
  if (work < 2 * kGrain || GetNumThreads() == 1)
    return rows(0, outer, 0, inner);
  const auto grain = [&](int64_t pieces, int64_t least) {
    return std::max(least, static_cast<int64_t>(kGrain * (pieces / work)) + 1);
  };
  if (outer >= 2 * GetNumThreads()) {
    parallel_for(0, outer, grain(outer, 1),
                 [&](int64_t b, int64_t e) { rows(b, e, 0, inner); });
  } else if (inner * item_size >= 512) {
    // Whole cache lines, so that threads do not share them.
    const int64_t line = std::max<int64_t>(1, 128 / item_size);
    const int64_t lines = (inner + line - 1) / line;
    parallel_for(0, lines, grain(lines, 1), [&](int64_t b, int64_t e) {
      rows(0, outer, b * line, std::min(inner, e * line));
    });
  } else {
    // Every thread reads all indices and takes those of its own destinations.
    parallel_for(0, n, grain(n, (n + GetNumThreads() - 1) / GetNumThreads()),
                 [&](int64_t b, int64_t e) {
                   for (int64_t o = 0; o < outer; ++o) {
                     for (int64_t k = 0; k < count; ++k) {
                       if (index[k] >= b && index[k] < e)
                         f(o, k, index[k], 0, inner);
                     }
                   }
                 });
  }
}

struct Add {
  template <typename A, typename B>
  void operator()(A& a, B b) const {
    // Integers wrap, as everywhere; signed overflow is not defined. The sum of
    // bools is true if one is.
    if constexpr (std::is_integral_v<A>) {
      a = static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      a += static_cast<A>(b);
    }
  }
};

struct Mul {
  template <typename A, typename B>
  void operator()(A& a, B b) const {
    if constexpr (std::is_integral_v<A>) {
      a = static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      a *= static_cast<A>(b);
    }
  }
};

template <typename To, typename From, typename Op>
void ReduceRows(int64_t outer, int64_t n, int64_t inner,
                std::span<const int64_t> index, const From* src, To* out,
                Op op) {
  const int64_t count = static_cast<int64_t>(index.size());
  ForEachDestination(
      outer, n, inner, index, sizeof(To),
      [&](int64_t o, int64_t k, int64_t i, int64_t b, int64_t e) {
        To* to = out + (o * n + i) * inner;
        if (k + kAhead < count) {
          __builtin_prefetch(out + (o * n + index[k + kAhead]) * inner + b, 1);
        }
        const From* from = src + (o * count + k) * inner;
        for (int64_t j = b; j < e; ++j) op(to[j], from[j]);
      });
}

// The distinct values of an index, numbered in the order in which they come.
struct Distinct {
  Distinct(std::span<const int64_t> index, int64_t n) {
    std::vector<int64_t> number_of(n, -1);
    numbers.reserve(index.size());
    for (const int64_t i : index) {
      if (number_of[i] < 0) {
        number_of[i] = static_cast<int64_t>(values.size());
        values.push_back(i);
      }
      numbers.push_back(number_of[i]);
    }
  }
  std::vector<int64_t> values;
  std::vector<int64_t> numbers;  // of each value of the index
};

// 16-bit floats are reduced in float32. Only rows that the index names are
// converted: those of a table of embeddings are few.
template <typename T, typename Op>
void ReduceRowsInFloat(int64_t outer, int64_t n, int64_t inner,
                       std::span<const int64_t> index, const T* src, T* out,
                       Op op) {
  const Distinct rows(index, n);
  const int64_t count = static_cast<int64_t>(rows.values.size());
  const Tensor wide = Tensor::Empty({outer * count * inner}, DType::kFloat32);
  float* const sums = wide.data<float>();
  const auto for_each_row = [&](auto f) {
    parallel_for(0, outer * count, kGrain / (inner + 1) + 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t r = begin; r < end; ++r) {
                     f(out + (r / count * n + rows.values[r % count]) * inner,
                       sums + r * inner);
                   }
                 });
  };
  for_each_row(
      [&](const T* row, float* sum) { std::copy(row, row + inner, sum); });
  ReduceRows(outer, count, inner, rows.numbers, src, sums, op);
  for_each_row([&](T* row, const float* sum) {
    std::transform(sum, sum + inner, row, [](float v) { return T(v); });
  });
}

template <typename Op>
void ReduceRows(DType dtype, int64_t outer, int64_t n, int64_t inner,
                std::span<const int64_t> index, const void* src, void* out,
                Op op) {
  // Where nothing is reduced n may be any number.
  if (outer == 0 || inner == 0 || index.empty()) return;
  VisitDType(dtype, [&]<typename T>(TypeTag<T>) {
    const T* from = static_cast<const T*>(src);
    T* to = static_cast<T*>(out);
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      ReduceRowsInFloat(outer, n, inner, index, from, to, op);
    } else {
      ReduceRows(outer, n, inner, index, from, to, op);
    }
  });
}

// Whether all are at least 0 and below n, by signs: those of a value and of
// what it lacks to n - 1.
template <typename T>
bool AllWithin(const T* values, int64_t count, int64_t n) {
  constexpr int64_t kLanes = 16 / sizeof(T);
  using U = std::make_unsigned_t<T>;
  typedef U Vector __attribute__((vector_size(16)));
  if (n == 0) return count == 0;
  // Values of a narrow type are below any n beyond it.
  const U last =
      static_cast<U>(std::min<int64_t>(n - 1, std::numeric_limits<T>::max()));
  Vector signs[2] = {};
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
#pragma GCC unroll 2
    for (int64_t k = 0; k < 2; ++k) {
      Vector v;
      std::memcpy(&v, values + i + k * kLanes, sizeof(v));
      signs[k] |= v | (last - v);
    }
  }
  U all = 0;
  for (int64_t k = 0; k < kLanes; ++k) all |= signs[0][k] | signs[1][k];
  for (; i < count; ++i) {
    const U v = static_cast<U>(values[i]);
    all |= v | (last - v);
  }
  return static_cast<T>(all) >= 0;
}

}  // namespace

IndexList::IndexList(const char* op, const Tensor& index, int64_t n, int dim,
                     bool negative) {
  const int64_t count = index.numel();
  const auto read = [&]<typename T>(const T* values) {
    const bool plain = AllWithin(values, count, n);
    if constexpr (std::is_same_v<T, int64_t>) {
      if (plain) {
        values_ = {values, static_cast<size_t>(count)};
        return;
      }
    }
    buffer_.resize(count);
    values_ = buffer_;
    for (int64_t k = 0; k < count; ++k) {
      int64_t i = values[k];
      if (!plain) {
        if (i >= n || i < (negative ? -n : 0)) {
          FailIndex(op, i, k, index.shape(), n, dim, negative);
        }
        if (i < 0) i += n;
      }
      buffer_[k] = i;
    }
  };
  if (index.dtype() == DType::kInt32) {
    read(index.data<int32_t>());
  } else if (index.dtype() == DType::kInt64) {
    read(index.data<int64_t>());
  } else {
    ThrowTypeError(std::string(op) +
                   ": indices must be int32 or int64; index is " +
                   Describe(index));
  }
}

void FailIndex(const char* op, int64_t value, int64_t position,
               const Shape& shape, int64_t n, int dim, bool negative) {
  DimVector at(shape.rank());
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at[d] = position % shape[d];
    position /= shape[d];
  }
  const std::string where = shape.rank() == 0 ? "" : " at " + ToString(at);
  if (n == 0) {
    Fail(absl::StatusCode::kOutOfRange, op, ": index ", value, where,
         " is out of range for dim ", dim, ", which is empty");
  }
  Fail(absl::StatusCode::kOutOfRange, op, ": index ", value, where,
       " is out of range for dim ", dim, " of size ", n, "; valid are ",
       negative ? -n : 0, " to ", n - 1);
}

void GatherRows(int64_t outer, int64_t n, int64_t row_bytes,
                std::span<const int64_t> index, const void* x, void* out) {
  const int64_t count = static_cast<int64_t>(index.size());
  if (outer == 0 || count == 0 || row_bytes == 0) return;
  const int64_t grain =
      std::max<int64_t>(1, kCopyGrainBytes / std::max<int64_t>(row_bytes, 8));
  parallel_for(0, outer * count, grain, [&](int64_t b, int64_t e) {
    switch (row_bytes) {
      case 1:
        return GatherItems<uint8_t>(n, index, x, out, b, e);
      case 2:
        return GatherItems<uint16_t>(n, index, x, out, b, e);
      case 4:
        return GatherItems<uint32_t>(n, index, x, out, b, e);
      case 8:
        return GatherItems<uint64_t>(n, index, x, out, b, e);
      case 16:
        return GatherItems<Item16>(n, index, x, out, b, e);
      default:
        break;
    }
    GatherBytes(n, row_bytes, index, static_cast<const char*>(x),
                static_cast<char*>(out), b, e);
  });
}

void ScatterRows(int64_t outer, int64_t n, int64_t row_bytes,
                 std::span<const int64_t> index, const void* src, void* out) {
  const int64_t count = static_cast<int64_t>(index.size());
  ForEachDestination(
      outer, n, row_bytes, index, 1,
      [&](int64_t o, int64_t k, int64_t i, int64_t b, int64_t e) {
        std::memcpy(
            static_cast<char*>(out) + (o * n + i) * row_bytes + b,
            static_cast<const char*>(src) + (o * count + k) * row_bytes + b,
            e - b);
      });
}

void ScatterAddRows(DType dtype, int64_t outer, int64_t n, int64_t inner,
                    std::span<const int64_t> index, const void* src,
                    void* out) {
  ReduceRows(dtype, outer, n, inner, index, src, out, Add());
}

void ScatterMulRows(DType dtype, int64_t outer, int64_t n, int64_t inner,
                    std::span<const int64_t> index, const void* src,
                    void* out) {
  ReduceRows(dtype, outer, n, inner, index, src, out, Mul());
}

std::vector<bool> LastWriters(std::span<const int64_t> index, int64_t n) {
  std::vector<bool> last(index.size(), false), seen(n, false);
  for (size_t k = index.size(); k-- > 0;) {
    if (seen[index[k]]) continue;
    seen[index[k]] = last[k] = true;
  }
  return last;
}

}  // namespace proa::inline v0::ops::cpu
