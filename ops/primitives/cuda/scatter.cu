#include "ops/primitives/cuda/scatter.h"

#include <bit>
#include <limits>

#include "ops/primitives/cuda/divide.cuh"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/sort.h"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/error.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;

template <class Index>
__global__ void KeysOf(const Index* __restrict__ index, IndexBounds bounds,
                       uint32_t count, uint32_t* __restrict__ rows,
                       int32_t* __restrict__ positions) {
  const uint32_t k = blockIdx.x * kThreads + threadIdx.x;
  if (k >= count) return;
  const int64_t i = bounds.Resolve(index[k], k);
  rows[k] = static_cast<uint32_t>(i < 0 ? bounds.n : i);
  positions[k] = static_cast<int32_t>(k);
}

__device__ __forceinline__ bool IsLast(const uint32_t* rows, int64_t p,
                                       int64_t count, int64_t n) {
  return rows[p] < n && (p + 1 == count || rows[p + 1] != rows[p]);
}

// Positions p in sorted order; a thread moves units that are a block apart.
template <class Unit>
__global__ void __launch_bounds__(kThreads)
    Assign(const uint32_t* __restrict__ rows,
           const int32_t* __restrict__ positions, int64_t count, int64_t n,
           const Unit* __restrict__ src, Unit* __restrict__ out, int64_t units,
           int64_t total, FlatDivider by_units, FlatDivider by_count) {
  const int64_t first =
      int64_t{blockIdx.x} * (kThreads * kPerThread) + threadIdx.x;
  Unit v[kPerThread] = {};
  int64_t to[kPerThread];
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    to[j] = -1;
    const int64_t at = first + j * kThreads;
    if (at >= total) continue;
    const int64_t row = by_units.Quotient(at), u = at - row * units;
    const int64_t o = by_count.Quotient(row), p = row - o * count;
    if (!IsLast(rows, p, count, n)) continue;
    to[j] = (o * n + rows[p]) * units + u;
    if (src != nullptr) v[j] = src[(o * count + positions[p]) * units + u];
  }
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    if (to[j] >= 0) out[to[j]] = v[j];
  }
}

__global__ void MarkLast(const uint32_t* __restrict__ rows,
                         const int32_t* __restrict__ positions, uint32_t count,
                         int64_t n, int64_t* __restrict__ list) {
  const uint32_t p = blockIdx.x * kThreads + threadIdx.x;
  if (p >= count) return;
  list[positions[p]] = IsLast(rows, p, count, n) ? int64_t{rows[p]} : -1;
}

uint32_t Blocks(int64_t n) {
  return static_cast<uint32_t>(CeilDiv(n, kThreads));
}

}  // namespace

SortedRows::SortedRows(const KernelContext& ctx, const RowIndex& index,
                       bool distinct)
    : count_(index.count), n_(index.bounds.n) {
  if (count_ == 0) return;
  if (count_ > kMostPositions || n_ >= std::numeric_limits<uint32_t>::max()) {
    Fail(absl::StatusCode::kUnimplemented,
         index.bounds.op == nullptr ? "scatter" : index.bounds.op, ": ", count_,
         " indices into ", n_,
         " rows are more than gpu kernels sort; move the tensors to the cpu");
  }
  // Four arrays of `size` words; of distinct rows two.
  const int64_t size = CeilDiv(count_, 16) * 16;
  memory_.emplace(ctx, (distinct ? 2 : 4) * size * int64_t{sizeof(uint32_t)});
  uint32_t* words = memory_->as<uint32_t>();
  PairBuffers<uint32_t> pairs{
      .keys = words,
      .other_keys = words + 2 * size,
      .values = reinterpret_cast<int32_t*>(words + size),
      .other_values = reinterpret_cast<int32_t*>(words + 3 * size)};
  const cudaStream_t stream = StreamOf(ctx);
  VisitIndex(index, [&]<class Index>(const Index* values) {
    KeysOf<Index><<<Blocks(count_), kThreads, 0, stream>>>(
        values, index.bounds, static_cast<uint32_t>(count_), pairs.keys,
        pairs.values);
  });
  CheckLaunch("keys of an index");
  ThrowCudaFaultOfLaunch(ctx.place.index);
  if (!distinct) {
    SortPairs(ctx, count_, std::bit_width(static_cast<uint64_t>(n_)), &pairs);
  }
  rows_ = pairs.keys;
  positions_ = pairs.values;
}

void ScatterRows(const KernelContext& ctx, int64_t outer, int64_t row_bytes,
                 const SortedRows& index, const void* src, void* out) {
  if (outer == 0 || index.count() == 0 || row_bytes == 0 || index.n() == 0) {
    return;
  }
  const cudaStream_t stream = StreamOf(ctx);
  VisitSize(WidestUnit(row_bytes, src, out), [&]<class Unit>(Tag<Unit>) {
    const int64_t units = row_bytes / static_cast<int64_t>(sizeof(Unit));
    const int64_t total = outer * index.count() * units;
    Assign<Unit><<<static_cast<uint32_t>(CeilDiv(total, kThreads * kPerThread)),
                   kThreads, 0, stream>>>(
        index.rows(), index.positions(), index.count(), index.n(),
        static_cast<const Unit*>(src), static_cast<Unit*>(out), units, total,
        FlatDivider(units, total), FlatDivider(index.count(), total));
  });
  CheckLaunch("scatter");
}

void LastWriters(const KernelContext& ctx, const SortedRows& index,
                 int64_t* list) {
  if (index.count() == 0) return;
  MarkLast<<<Blocks(index.count()), kThreads, 0, StreamOf(ctx)>>>(
      index.rows(), index.positions(), static_cast<uint32_t>(index.count()),
      index.n(), list);
  CheckLaunch("last writers");
}

}  // namespace proa::inline v0::ops::cuda
