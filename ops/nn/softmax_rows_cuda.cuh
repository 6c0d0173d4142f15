// Computations whose results depend on one summary of each line of a tensor:
// softmax, its relatives and their gradients.
//
//   struct Formula {
//     using C = float;                  // what it is computed in
//     static constexpr int kInputs = 1;
//     static constexpr bool kElements;  // results are lines; else one each
//     struct State {..};
//     State Start() const;
//     void Take(State* s, const C (&in)[kInputs][V]) const;  // V elements
//     State Join(State a, State b) const;
//     Done Finish(State s, int64_t line) const;      // what Write looks at
//     C Write(const Done&, const C (&in)[kInputs], position, line) const;
//     C Result(const State&, line, first, step) const;  // of no elements
//   };
#ifndef PROA_OPS_NN_SOFTMAX_ROWS_CUDA_CUH_
#define PROA_OPS_NN_SOFTMAX_ROWS_CUDA_CUH_

#include "ops/nn/rows_cuda.cuh"

namespace proa::inline v0::ops::cuda {

// The largest element and the sum of exp(x - largest). A NaN makes the sum NaN,
// so does an infinity that is the largest when it is subtracted from itself.
template <class C>
struct ExpSum {
  C largest, sum;

  static __device__ __forceinline__ ExpSum Nothing() {
    return {-std::numeric_limits<C>::infinity(), C(0)};
  }
  // What is subtracted: nothing, where all so far are -infinity.
  static __device__ __forceinline__ C Shift(C largest) {
    return largest == -std::numeric_limits<C>::infinity() ? C(0) : largest;
  }
  template <int V>
  __device__ __forceinline__ void Take(const C (&x)[V]) {
    C top = largest;
#pragma unroll
    for (int k = 0; k < V; ++k) top = x[k] > top ? x[k] : top;
    const C shift = Shift(top);
    if (top > largest) {
      sum = sum * exp(largest - shift);
      largest = top;
    }
#pragma unroll
    for (int k = 0; k < V; ++k) sum += exp(x[k] - shift);
  }
  __device__ __forceinline__ ExpSum Join(ExpSum o) const {
    const C top = o.largest > largest ? o.largest : largest;
    const C shift = Shift(top);
    return {top, sum * exp(largest - shift) + o.sum * exp(o.largest - shift)};
  }
};

namespace softmax_internal {

template <class Formula, int kInputs>
struct Inputs {
  const void* data[kInputs];
};

template <class T, int V, class Formula>
__global__ void __launch_bounds__(kMostRowThreads)
    AlongRows(Formula formula, Inputs<Formula, Formula::kInputs> in,
              Memory<T>* out, int64_t rows, int64_t size) {
  using M = Memory<T>;
  using C = Compute<T>;
  constexpr int kInputs = Formula::kInputs;
  using State = typename Formula::State;
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < rows;
       first += step) {
    const int64_t row = first + threadIdx.y;
    const bool mine = row < rows;
    const int64_t n = mine ? size : 0;
    RowPacks<M, V> packs[kInputs];
#pragma unroll
    for (int r = 0; r < kInputs; ++r) {
      packs[r].Read(static_cast<const M*>(in.data[r]) + (mine ? row : 0) * size,
                    n);
    }
    State state = formula.Start();
    ForEachPack<C, V>(n, packs, [&](int64_t, const C(&v)[kInputs][V]) {
      formula.template Take<V>(&state, v);
    });
    state =
        JoinGroup(state, [&](State a, State b) { return formula.Join(a, b); });
    if (!mine) continue;
    if constexpr (Formula::kElements) {
      const auto done = formula.Finish(state, row);
      ForEachPack<C, V>(n, packs, [&](int64_t i, const C(&v)[kInputs][V]) {
        C result[V];
#pragma unroll
        for (int k = 0; k < V; ++k) {
          C one[kInputs];
#pragma unroll
          for (int r = 0; r < kInputs; ++r) one[r] = v[r][k];
          result[k] = formula.Write(done, one, i + k, row);
        }
        WritePack<M, V>(out + row * size + i, result);
      });
    } else if (threadIdx.x == 0) {
      out[row] = Store<M>(formula.Result(
          state, row, static_cast<const M*>(in.data[0]) + row * size,
          int64_t{1}));
    }
  }
}

inline constexpr int kColumns = 32, kColumnRows = 8;

// Lines whose elements lie `inner` apart: neighbouring threads have
// neighbouring lines.
template <class T, class Formula>
__global__ void __launch_bounds__(kColumns* kColumnRows)
    AlongColumns(Formula formula, Inputs<Formula, Formula::kInputs> in,
                 Memory<T>* out, AxisLayout l) {
  using M = Memory<T>;
  using C = Compute<T>;
  constexpr int kInputs = Formula::kInputs;
  using State = typename Formula::State;
  __shared__ alignas(
      16) unsigned char memory[kColumns * kColumnRows * sizeof(State)];
  auto* states = reinterpret_cast<State*>(memory);
  const int64_t lines = l.outer * l.inner;
  const int64_t step = int64_t{gridDim.x} * kColumns;
  for (int64_t first = int64_t{blockIdx.x} * kColumns; first < lines;
       first += step) {
    const int64_t line = first + threadIdx.x;
    const bool mine = line < lines;
    const int64_t base =
        mine ? line / l.inner * l.size * l.inner + line % l.inner : 0;
    const auto read = [&](int64_t i, C(&v)[kInputs][1]) {
#pragma unroll
      for (int r = 0; r < kInputs; ++r) {
        v[r][0] =
            Load<C>(static_cast<const M*>(in.data[r])[base + i * l.inner]);
      }
    };
    State state = formula.Start();
    if (mine) {
#pragma unroll 4
      for (int64_t i = threadIdx.y; i < l.size; i += kColumnRows) {
        C v[kInputs][1];
        read(i, v);
        formula.template Take<1>(&state, v);
      }
    }
    states[threadIdx.y * kColumns + threadIdx.x] = state;
    __syncthreads();
    state = states[threadIdx.x];
#pragma unroll
    for (int y = 1; y < kColumnRows; ++y) {
      state = formula.Join(state, states[y * kColumns + threadIdx.x]);
    }
    __syncthreads();
    if (!mine) continue;
    if constexpr (Formula::kElements) {
      const auto done = formula.Finish(state, line);
#pragma unroll 4
      for (int64_t i = threadIdx.y; i < l.size; i += kColumnRows) {
        C v[kInputs][1], one[kInputs];
        read(i, v);
#pragma unroll
        for (int r = 0; r < kInputs; ++r) one[r] = v[r][0];
        out[base + i * l.inner] = Store<M>(formula.Write(done, one, i, line));
      }
    } else if (threadIdx.y == 0) {
      out[line] = Store<M>(formula.Result(
          state, line, static_cast<const M*>(in.data[0]) + base, l.inner));
    }
  }
}

}  // namespace softmax_internal

// The inputs are dense and of layout `l`; `out` too, or [outer, inner].
template <class T, class Formula, class... In>
void AlongAxis(const KernelContext& ctx, const Formula& formula,
               const AxisLayout& l, Tensor* out, const In&... in) {
  using namespace softmax_internal;  // NOLINT
  static_assert(sizeof...(In) == Formula::kInputs);
  if (l.rows() == 0 || l.size == 0) return;
  using M = Memory<T>;
  const Inputs<Formula, Formula::kInputs> inputs = {{in.raw_data()...}};
  auto* to = static_cast<M*>(out->raw_data());
  const cudaStream_t stream = StreamOf(ctx);
  if (l.inner > 1) {
    const int64_t blocks =
        std::min(CeilDiv(l.rows(), kColumns), kMostPositions);
    AlongColumns<T>
        <<<static_cast<uint32_t>(blocks), dim3(kColumns, kColumnRows), 0,
           stream>>>(formula, inputs, to, l);
  } else {
    const bool aligned = Aligned16({in.raw_data()...}) &&
                         (!Formula::kElements || Aligned16({out->raw_data()}));
    VisitWidth<M>(l.size, aligned, [&]<int V>(Number<V>) {
      const RowLaunch launch = LaunchRows(l.outer, l.size, V * kPacksOf<V>);
      AlongRows<T, V><<<launch.grid, launch.block, 0, stream>>>(
          formula, inputs, to, l.outer, l.size);
    });
  }
  CheckLaunch("softmax");
}

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_NN_SOFTMAX_ROWS_CUDA_CUH_
