// Reduce: folds dims of a strided tensor on a GPU.
//
//   struct SumOf {                         // an operation, with its attributes
//     using Element = Memory<float>;       // as it lies in memory
//     using State = float;
//     __device__ State Start() const;                    // of nothing
//     __device__ State Take(Element v, int64_t i) const; // of the i-th element
//     __device__ State Join(State a, State b) const;
//     __device__ void Write(char* out, int64_t i, State s) const;  // result i
//   };
//   Reduce(ctx, SumOf{...}, x, ReducedAxes(x, axis), out->data<char>());
//
// The work is cut by sizes alone and partial results meet in a fixed order, so
// that results are the same each time. Elements that lie one behind the other
// along a reduced dim are read by neighbouring threads, 16 bytes each; where
// the kept dim is dense, neighbouring threads have neighbouring results.
#ifndef PROA_OPS_PRIMITIVES_CUDA_REDUCE_CUH_
#define PROA_OPS_PRIMITIVES_CUDA_REDUCE_CUH_

#include <algorithm>
#include <cstdint>

#include "ops/kernel.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/reduce_plan.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {
namespace reduce_internal {

inline constexpr int kThreads = 256;
inline constexpr int kColumns = 32;  // results of a block of columns
inline constexpr int kRowsOfThreads = kThreads / kColumns;

// Where the element at `position` lies; more than 2^31 only of one dim.
__device__ __forceinline__ int64_t OffsetAt(const Offsets<1>& offsets,
                                            int64_t position) {
  if (offsets.rank == 1) return position * offsets.strides[0][0];
  int64_t offset[1];
  offsets.At(static_cast<uint32_t>(position), offset);
  return offset[0];
}

// Joins the states of threads whose index differs in `width` steps of `stride`;
// the result is in those with the lowest.
template <class Op>
__device__ __forceinline__ typename Op::State JoinInBlock(
    const Op& op, typename Op::State state, int place, int width, int stride) {
  __shared__ alignas(
      16) unsigned char memory[kThreads * sizeof(typename Op::State)];
  auto* states = reinterpret_cast<typename Op::State*>(memory);
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  states[t] = state;
  __syncthreads();
  for (int half = width / 2; half > 0; half /= 2) {
    if (place < half) states[t] = op.Join(states[t], states[t + half * stride]);
    __syncthreads();
  }
  return states[t];
}

// A row of threads folds one result (and, of several parts, one part of it).
template <class Op, bool kVectors>
__global__ void __launch_bounds__(kThreads)
    FoldRows(Op op, const char* x, char* out, typename Op::State* partial,
             ReducePlan plan, int64_t part_size) {
  using Element = typename Op::Element;
  constexpr int V = kVectors ? static_cast<int>(16 / sizeof(Element)) : 4;
  const int64_t result = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  typename Op::State states[V];
#pragma unroll
  for (int k = 0; k < V; ++k) states[k] = op.Start();
  if (result < plan.results) {
    const char* row = x + OffsetAt(plan.kept, result);
    const int64_t begin = part_size * blockIdx.y;
    const int64_t end = min(begin + part_size, plan.count);
    if constexpr (kVectors) {
      for (int64_t i = begin + threadIdx.x * V; i < end;
           i += int64_t{blockDim.x} * V) {
        const auto pack = *reinterpret_cast<const Pack<Element, V>*>(
            row + i * int64_t{sizeof(Element)});
#pragma unroll
        for (int k = 0; k < V; ++k) {
          states[k] = op.Join(states[k], op.Take(pack.v[k], i + k));
        }
      }
    } else {
      const int64_t step = blockDim.x;
      int64_t i = begin + threadIdx.x;
      for (; i + (V - 1) * step < end; i += V * step) {
        Element v[V];
#pragma unroll
        for (int k = 0; k < V; ++k) {
          v[k] = *reinterpret_cast<const Element*>(
              row + OffsetAt(plan.reduced, i + k * step));
        }
#pragma unroll
        for (int k = 0; k < V; ++k) {
          states[k] = op.Join(states[k], op.Take(v[k], i + k * step));
        }
      }
      for (; i < end; i += step) {
        states[0] =
            op.Join(states[0], op.Take(*reinterpret_cast<const Element*>(
                                           row + OffsetAt(plan.reduced, i)),
                                       i));
      }
    }
  }
#pragma unroll
  for (int half = V / 2; half > 0; half /= 2) {
#pragma unroll
    for (int k = 0; k < half; ++k) {
      states[k] = op.Join(states[k], states[k + half]);
    }
  }
  const auto state = JoinInBlock(op, states[0], static_cast<int>(threadIdx.x),
                                 static_cast<int>(blockDim.x), 1);
  if (threadIdx.x == 0 && result < plan.results) {
    if (gridDim.y == 1) {
      op.Write(out, result, state);
    } else {
      partial[result * gridDim.y + blockIdx.y] = state;
    }
  }
}

// Neighbouring threads fold neighbouring results.
template <class Op>
__global__ void __launch_bounds__(kThreads)
    FoldColumns(Op op, const char* x, char* out, typename Op::State* partial,
                ReducePlan plan, int64_t part_size) {
  using Element = typename Op::Element;
  constexpr int kUnroll = 4;
  const int64_t result = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  typename Op::State states[kUnroll];
#pragma unroll
  for (int k = 0; k < kUnroll; ++k) states[k] = op.Start();
  if (result < plan.results) {
    const char* column = x + OffsetAt(plan.kept, result);
    const int64_t begin = part_size * blockIdx.y;
    const int64_t end = min(begin + part_size, plan.count);
    int64_t i = begin + threadIdx.y;
    for (; i + (kUnroll - 1) * kRowsOfThreads < end;
         i += kUnroll * kRowsOfThreads) {
      Element v[kUnroll];
#pragma unroll
      for (int k = 0; k < kUnroll; ++k) {
        v[k] = *reinterpret_cast<const Element*>(
            column + OffsetAt(plan.reduced, i + k * kRowsOfThreads));
      }
#pragma unroll
      for (int k = 0; k < kUnroll; ++k) {
        states[k] = op.Join(states[k], op.Take(v[k], i + k * kRowsOfThreads));
      }
    }
    for (; i < end; i += kRowsOfThreads) {
      states[0] =
          op.Join(states[0], op.Take(*reinterpret_cast<const Element*>(
                                         column + OffsetAt(plan.reduced, i)),
                                     i));
    }
  }
  states[0] =
      op.Join(op.Join(states[0], states[1]), op.Join(states[2], states[3]));
  const auto state = JoinInBlock(op, states[0], static_cast<int>(threadIdx.y),
                                 kRowsOfThreads, kColumns);
  if (threadIdx.y == 0 && result < plan.results) {
    if (gridDim.y == 1) {
      op.Write(out, result, state);
    } else {
      partial[result * gridDim.y + blockIdx.y] = state;
    }
  }
}

// The parts of each result, which one row of threads joins.
template <class Op>
__global__ void __launch_bounds__(kThreads)
    JoinParts(Op op, const typename Op::State* partial, char* out,
              int64_t results, int parts) {
  const int64_t result = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  auto state = op.Start();
  if (result < results) {
    for (int i = static_cast<int>(threadIdx.x); i < parts; i += blockDim.x) {
      state = op.Join(state, partial[result * parts + i]);
    }
  }
  state = JoinInBlock(op, state, static_cast<int>(threadIdx.x),
                      static_cast<int>(blockDim.x), 1);
  if (threadIdx.x == 0 && result < results) op.Write(out, result, state);
}

// The smallest power of two that is n at least, within [1, most].
inline int WidthFor(int64_t n, int most) {
  int width = 1;
  while (width < n && width < most) width *= 2;
  return width;
}

}  // namespace reduce_internal

// `axes`: the reduced dims of `x` as bits (ReducedAxes). Results are written
// one for each index of the other dims, in row-major order.
template <class Op>
void Reduce(const KernelContext& ctx, const Op& op, const Tensor& x,
            uint64_t axes, char* out) {
  using namespace reduce_internal;  // NOLINT
  using Element = typename Op::Element;
  using State = typename Op::State;
  const ReducePlan plan = PlanReduction(x, axes);
  if (plan.results == 0) return;
  const cudaStream_t stream = StreamOf(ctx);
  const auto* data = x.data<char>();
  // Threads along a row have several elements each.
  const int width = WidthFor(CeilDiv(plan.count, 4), kThreads);
  const int64_t blocks = plan.rows ? CeilDiv(plan.results, kThreads / width)
                                   : CeilDiv(plan.results, kColumns);
  // Where there are too few blocks for the machine each result is made of
  // parts; whole packs, so that those after the first are aligned.
  const int64_t least = plan.rows ? 4096 : 4096 / kColumns;
  const int64_t unit = plan.rows ? 1024 : kRowsOfThreads;
  int64_t parts = 1, part_size = plan.count;
  const int64_t wanted = 4 * NumMultiprocessors();
  if (blocks < wanted && plan.count >= 2 * least) {
    parts = std::min(CeilDiv(wanted, blocks), plan.count / least);
    part_size = CeilDiv(CeilDiv(plan.count, parts), unit) * unit;
    parts = CeilDiv(plan.count, part_size);
  }
  const Workspace memory(
      ctx, parts == 1
               ? 0
               : plan.results * parts * static_cast<int64_t>(sizeof(State)));
  State* partial = memory.as<State>();
  PROA_REQUIRE(blocks <= kMostPositions,
               "gpu: reduction to more results than a kernel counts");
  const dim3 grid(static_cast<uint32_t>(blocks), static_cast<uint32_t>(parts));
  if (plan.rows) {
    const dim3 block(static_cast<uint32_t>(width),
                     static_cast<uint32_t>(kThreads / width));
    constexpr int64_t kPack = static_cast<int64_t>(16 / sizeof(Element));
    bool vectors =
        sizeof(Element) <= 8 && plan.reduced.rank == 1 &&
        plan.reduced.strides[0][0] == static_cast<int64_t>(sizeof(Element)) &&
        plan.count % kPack == 0 && reinterpret_cast<uintptr_t>(data) % 16 == 0;
    for (int d = 0; d < plan.kept.rank; ++d) {
      vectors = vectors && plan.kept.strides[0][d] % 16 == 0;
    }
    if (vectors) {
      FoldRows<Op, true>
          <<<grid, block, 0, stream>>>(op, data, out, partial, plan, part_size);
    } else {
      FoldRows<Op, false>
          <<<grid, block, 0, stream>>>(op, data, out, partial, plan, part_size);
    }
  } else {
    FoldColumns<Op><<<grid, dim3(kColumns, kRowsOfThreads), 0, stream>>>(
        op, data, out, partial, plan, part_size);
  }
  CheckLaunch("reduction");
  if (parts == 1) return;
  const int across = WidthFor(parts, kThreads);
  JoinParts<Op>
      <<<static_cast<uint32_t>(CeilDiv(plan.results, kThreads / across)),
         dim3(static_cast<uint32_t>(across),
              static_cast<uint32_t>(kThreads / across)),
         0, stream>>>(op, partial, out, plan.results, static_cast<int>(parts));
  CheckLaunch("reduction");
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_REDUCE_CUH_
