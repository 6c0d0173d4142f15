#include "ops/graph/pooling.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "ops/for_machine.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kMostSegments = int64_t{1} << 40;
constexpr int64_t kGrain = 16384;  // elements read

// Elements [begin, end) of one group's row.
void PoolOne(PoolRowFunction pool_row, const PooledRow& whole,
             const RowGroups& groups, int64_t k, int64_t item, char* out) {
  PooledRow p = whole;
  p.first = groups.starts[k];
  p.count = groups.count(k);
  p.rows = groups.rows.empty() ? nullptr : groups.rows.data() + p.first;
  p.out = out + groups.target(k) * p.inner * item;
  if (p.count > 0) return pool_row(p);
  std::memset(static_cast<char*>(p.out) + p.begin * item, 0,
              (p.end - p.begin) * item);
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
  const PoolRowFunction pool_row = ForMachine(
      sse2::PoolRowFor, avx2::PoolRowFor, avx512::PoolRowFor)(x.dtype());
  if (pool_row == nullptr) return;
  PooledRow whole = {};
  whole.pool = pool;
  whole.x = x.raw_data();
  whole.inner = 1;
  for (int i = 1; i < out->rank(); ++i) whole.inner *= out->size(i);
  const int64_t n = groups.size(), inner = whole.inner;
  if (!groups.targets.empty()) std::memset(out->raw_data(), 0, out->bytes());
  const int64_t blocks = (inner + kMostPooled - 1) / kMostPooled;
  const int64_t pieces = n * blocks;
  if (pieces == 0) return;
  const int64_t members = groups.starts.back();
  const int64_t each = members * inner / pieces + std::min(inner, kMostPooled);
  parallel_for(0, pieces, kGrain / each + 1, [&](int64_t b, int64_t e) {
    PooledRow part = whole;
    for (int64_t piece = b; piece < e; ++piece) {
      part.begin = piece % blocks * kMostPooled;
      part.end = std::min(inner, part.begin + kMostPooled);
      PoolOne(pool_row, part, groups, piece / blocks, ItemSize(x.dtype()),
              static_cast<char*>(out->raw_data()));
    }
  });
}

}  // namespace proa::inline v0::ops::cpu
