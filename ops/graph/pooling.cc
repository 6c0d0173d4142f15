#include "ops/graph/pooling.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kColumns =
    256;  // elements of a row that one piece of work has
constexpr int64_t kMostSegments = int64_t{1} << 40;
constexpr int64_t kGrain = 16384;  // elements read

template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <typename T>
Sum<T> Widen(T value) {
  return static_cast<Sum<T>>(value);
}

// Whether a takes the place of b; NaN takes that of every number.
template <typename T>
bool Replaces(bool largest, T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    if (std::isnan(static_cast<double>(a))) {
      return !std::isnan(static_cast<double>(b));
    }
  }
  return largest ? a > b : a < b;
}

template <typename T>
T Quotient(Sum<T> sum, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<int64_t>(sum) / count);
  } else {
    return static_cast<T>(sum / static_cast<double>(count));
  }
}

// Elements [begin, end) of one group's row.
template <typename T>
void PoolOne(Pool pool, const RowGroups& groups, int64_t k, int64_t inner,
             int64_t begin, int64_t end, const T* x, T* out) {
  const int64_t first = groups.starts[k], last = groups.starts[k + 1];
  T* to = out + groups.target(k) * inner;
  if (first == last) {
    std::fill(to + begin, to + end, T(0));
    return;
  }
  const auto row = [&](int64_t i) {
    return x + (groups.rows.empty() ? i : groups.rows[i]) * inner;
  };
  if (pool == Pool::kMax || pool == Pool::kMin) {
    std::copy(row(first) + begin, row(first) + end, to + begin);
    for (int64_t i = first + 1; i < last; ++i) {
      const T* from = row(i);
      for (int64_t j = begin; j < end; ++j) {
        if (Replaces(pool == Pool::kMax, from[j], to[j])) to[j] = from[j];
      }
    }
    return;
  }
  Sum<T> sums[kColumns] = {};
  for (int64_t i = first; i < last; ++i) {
    const T* from = row(i);
    for (int64_t j = begin; j < end; ++j) sums[j - begin] += Widen(from[j]);
  }
  for (int64_t j = begin; j < end; ++j) {
    to[j] = pool == Pool::kMean ? Quotient<T>(sums[j - begin], last - first)
                                : static_cast<T>(sums[j - begin]);
  }
}

template <typename T>
void PoolAll(Pool pool, const RowGroups& groups, int64_t rows, int64_t inner,
             const T* x, T* out) {
  const int64_t n = groups.size();
  if (!groups.targets.empty()) std::fill_n(out, rows * inner, T(0));
  const int64_t blocks = (inner + kColumns - 1) / kColumns;
  const int64_t pieces = n * blocks;
  if (pieces == 0) return;
  const int64_t members = groups.starts.back();
  const int64_t each = members * inner / pieces + std::min(inner, kColumns);
  parallel_for(0, pieces, kGrain / each + 1, [&](int64_t b, int64_t e) {
    for (int64_t piece = b; piece < e; ++piece) {
      const int64_t begin = piece % blocks * kColumns;
      PoolOne(pool, groups, piece / blocks, inner, begin,
              std::min(inner, begin + kColumns), x, out);
    }
  });
}

// Calls f with the elements of ids.
template <typename F>
auto WithIds(const Tensor& ids, F f) {
  return ids.dtype() == DType::kInt32 ? f(ids.data<int32_t>())
                                      : f(ids.data<int64_t>());
}

template <typename T>
int64_t CountOf(const char* op, const T* ids, int64_t count) {
  int64_t last = -1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = ids[i];
    if (id < 0) {
      ThrowError(absl::StatusCode::kOutOfRange,
                 std::string(op) + ": id " + std::to_string(id) + " at [" +
                     std::to_string(i) + "] is negative");
    }
    PROA_REQUIRE(id >= last, op, ": segment_ids must not fall; id ", id,
                 " at [", i, "] comes after ", last);
    PROA_REQUIRE(id < kMostSegments, op, ": id ", id, " at [", i,
                 "] is too large");
    last = id;
  }
  return last + 1;
}

template <typename T>
RowGroups GroupsOf(const T* ids, int64_t count) {
  RowGroups groups;
  groups.starts.push_back(0);
  for (int64_t i = 0; i < count; ++i) {
    if (i == 0 || ids[i] != ids[i - 1]) {
      groups.targets.push_back(ids[i]);
      groups.starts.push_back(i);
    }
    groups.starts.back() = i + 1;
  }
  return groups;
}

}  // namespace

int64_t CountSegments(const char* op, const Tensor& segment_ids) {
  return WithIds(segment_ids, [&](const auto* ids) {
    return CountOf(op, ids, segment_ids.numel());
  });
}

RowGroups GroupsOfSegments(const Tensor& segment_ids) {
  return WithIds(segment_ids, [&](const auto* ids) {
    return GroupsOf(ids, segment_ids.numel());
  });
}

RowGroups GroupsOfEdges(std::span<const int64_t> sources,
                        std::span<const int64_t> targets, int64_t n) {
  RowGroups groups;
  groups.starts.assign(n + 1, 0);
  for (const int64_t target : targets) ++groups.starts[target + 1];
  for (int64_t k = 0; k < n; ++k) groups.starts[k + 1] += groups.starts[k];
  std::vector<int64_t> next(groups.starts.begin(), groups.starts.end() - 1);
  groups.rows.resize(targets.size());
  for (size_t e = 0; e < targets.size(); ++e) {
    groups.rows[next[targets[e]]++] = sources[e];
  }
  return groups;
}

void PoolRows(Pool pool, const RowGroups& groups, const Tensor& x,
              Tensor* out) {
  int64_t inner = 1;
  for (int i = 1; i < out->rank(); ++i) inner *= out->size(i);
  VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (!IsComplex(kDTypeOf<T>) && !std::is_same_v<T, bool>) {
      PoolAll(pool, groups, out->size(0), inner, x.data<T>(), out->data<T>());
    }
  });
}

}  // namespace proa::inline v0::ops::cpu
