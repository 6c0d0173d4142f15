// ReduceRows: rows combined into others by an index (scatter.h), for an
// operation and a type.
//
// Sorted positions are cut into chunks; a thread walks one chunk of one column
// (or of as many as fill 16 bytes) and combines runs of equal rows. A run
// inside a chunk starts from the element of `out` and is written back. Runs
// that go over the ends of chunks leave a part for each chunk, which a second
// kernel combines in their order.
#ifndef PROA_OPS_PRIMITIVES_CUDA_REDUCE_ROWS_CUH_
#define PROA_OPS_PRIMITIVES_CUDA_REDUCE_ROWS_CUH_

#include <cstdint>

#include "ops/primitives/cuda/divide.cuh"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/scatter.h"

namespace proa::inline v0::ops::cuda {
namespace reduce_rows_internal {

inline constexpr int kThreads = 256;
inline constexpr int kAhead = 4;  // rows that are read at once

struct Runs {
  const uint32_t* rows;
  const int32_t* positions;
  int64_t count, n, chunk, chunks;
};

// Parts: of chunk c the first is that of a run which began before the chunk,
// the second that of one which began in it and goes on behind it.
__device__ __forceinline__ int64_t PartAt(int64_t o, int64_t chunks, int64_t c,
                                          int which, int64_t units, int64_t u) {
  return ((o * chunks + c) * 2 + which) * units + u;
}

template <class M, class C, int V, class Op>
__global__ void __launch_bounds__(kThreads)
    ReduceChunks(Runs runs, const Pack<M, V>* __restrict__ src,
                 Pack<M, V>* __restrict__ out, Pack<C, V>* __restrict__ parts,
                 int64_t units, int64_t total, FlatDivider by_units,
                 FlatDivider by_chunks) {
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t line = by_units.Quotient(at), u = at - line * units;
  const int64_t o = by_chunks.Quotient(line), c = line - o * runs.chunks;
  const int64_t begin = c * runs.chunk;
  const int64_t end = min(runs.count, begin + runs.chunk);
  const Pack<M, V>* from = src + o * runs.count * units + u;
  Pack<M, V>* to = out + o * runs.n * units + u;
  C sum[V];
  uint32_t row = 0;
  bool began_before = false, any = false;
  const auto start = [&](uint32_t next) {
    row = next;
    any = true;
    if (began_before || row >= runs.n) {
#pragma unroll
      for (int v = 0; v < V; ++v) sum[v] = Op::template Neutral<C>();
      return;
    }
    const Pack<M, V> old = to[row * units];
#pragma unroll
    for (int v = 0; v < V; ++v) sum[v] = Load<C>(old.v[v]);
  };
  const auto finish = [&](bool goes_on) {
    if (row >= runs.n) return;
    if (began_before || goes_on) {
      Pack<C, V> part;
#pragma unroll
      for (int v = 0; v < V; ++v) part.v[v] = sum[v];
      parts[PartAt(o, runs.chunks, c, began_before ? 0 : 1, units, u)] = part;
      return;
    }
    Pack<M, V> sums;
#pragma unroll
    for (int v = 0; v < V; ++v) sums.v[v] = Store<M>(sum[v]);
    to[row * units] = sums;
  };
  began_before = begin > 0 && runs.rows[begin - 1] == runs.rows[begin];
  for (int64_t p = begin; p < end; p += kAhead) {
    uint32_t rows[kAhead];
    Pack<M, V> values[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (p + j >= end) break;
      rows[j] = runs.rows[p + j];
      values[j] = from[runs.positions[p + j] * units];
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (p + j >= end) break;
      if (!any || rows[j] != row) {
        if (any) {
          finish(false);
          began_before = false;
        }
        start(rows[j]);
      }
#pragma unroll
      for (int v = 0; v < V; ++v) {
        sum[v] = Op::Apply(sum[v], Load<C>(values[j].v[v]));
      }
    }
  }
  finish(end < runs.count && runs.rows[end] == row);
}

template <class M, class C, int V, class Op>
__global__ void __launch_bounds__(kThreads)
    JoinParts(Runs runs, const Pack<C, V>* __restrict__ parts,
              Pack<M, V>* __restrict__ out, int64_t units, int64_t total,
              FlatDivider by_units, FlatDivider by_chunks) {
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t line = by_units.Quotient(at), u = at - line * units;
  const int64_t o = by_chunks.Quotient(line), c = line - o * runs.chunks;
  const int64_t begin = c * runs.chunk, end = begin + runs.chunk;
  if (end >= runs.count) return;
  const uint32_t row = runs.rows[end];
  if (row >= runs.n || runs.rows[end - 1] != row) return;  // nothing goes on
  if (begin > 0 && runs.rows[begin - 1] == row) return;  // begins further ahead
  const Pack<C, V> first = parts[PartAt(o, runs.chunks, c, 1, units, u)];
  C sum[V];
#pragma unroll
  for (int v = 0; v < V; ++v) sum[v] = first.v[v];
  for (int64_t next = c + 1; next < runs.chunks; ++next) {
    if (runs.rows[next * runs.chunk] != row) break;
    const Pack<C, V> part = parts[PartAt(o, runs.chunks, next, 0, units, u)];
#pragma unroll
    for (int v = 0; v < V; ++v) sum[v] = Op::Apply(sum[v], part.v[v]);
    const int64_t behind = (next + 1) * runs.chunk;
    if (behind >= runs.count || runs.rows[behind - 1] != row) break;
  }
  Pack<M, V> sums;
#pragma unroll
  for (int v = 0; v < V; ++v) sums.v[v] = Store<M>(sum[v]);
  out[(o * runs.n + row) * units + u] = sums;
}

template <class M, class C, int V, class Op>
void Run(const KernelContext& ctx, int64_t outer, int64_t inner,
         const SortedRows& index, const void* src, void* out) {
  const int64_t units = inner / V;
  // Short chunks where long ones would leave the GPU without work.
  const bool few = outer * units * CeilDiv(index.count(), 32) < (1 << 18);
  const int64_t chunk = few ? 8 : 32;
  const Runs runs{index.rows(),  index.positions(),
                  index.count(), index.n(),
                  chunk,         CeilDiv(index.count(), chunk)};
  const int64_t total = outer * runs.chunks * units;
  const FlatDivider by_units(units, total), by_chunks(runs.chunks, total);
  const Workspace parts(
      ctx, runs.chunks > 1 ? 2 * total * int64_t{sizeof(Pack<C, V>)} : 0);
  const cudaStream_t stream = StreamOf(ctx);
  const auto blocks = static_cast<uint32_t>(CeilDiv(total, kThreads));
  ReduceChunks<M, C, V, Op><<<blocks, kThreads, 0, stream>>>(
      runs, static_cast<const Pack<M, V>*>(src), static_cast<Pack<M, V>*>(out),
      parts.as<Pack<C, V>>(), units, total, by_units, by_chunks);
  CheckLaunch("scatter-reduce");
  if (runs.chunks == 1) return;
  JoinParts<M, C, V, Op><<<blocks, kThreads, 0, stream>>>(
      runs, parts.as<Pack<C, V>>(), static_cast<Pack<M, V>*>(out), units, total,
      by_units, by_chunks);
  CheckLaunch("scatter-reduce");
}

}  // namespace reduce_rows_internal

// Elements of M in memory, combined in C by Op::Apply(C, C).
template <class M, class C, class Op, bool kVector = false>
void ReduceRows(const KernelContext& ctx, int64_t outer, int64_t inner,
                const SortedRows& index, const void* src, void* out) {
  if (outer == 0 || inner == 0 || index.count() == 0 || index.n() == 0) return;
  if constexpr (kVector) {
    constexpr int V = 16 / sizeof(M);
    if (WidestUnit(inner * int64_t{sizeof(M)}, src, out) == 16) {
      return reduce_rows_internal::Run<M, C, V, Op>(ctx, outer, inner, index,
                                                    src, out);
    }
  }
  reduce_rows_internal::Run<M, C, 1, Op>(ctx, outer, inner, index, src, out);
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_REDUCE_ROWS_CUH_
