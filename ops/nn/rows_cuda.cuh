// Lines along one axis of a tensor on a GPU, each worked on by a group of
// threads: what the kernels of softmax, cross entropy and layer_norm share.
//
// A tensor is [outer, size, inner] with the axis in the middle. Where inner is
// 1, a line is a row: a group of neighbouring threads (a power of two of them,
// blockDim.x) reads it 16 bytes at a time and keeps its first kPacks packs in
// registers; only what is longer than that is read again. Sums are added up in
// an order that depends on sizes alone.
#ifndef PROA_OPS_NN_ROWS_CUDA_CUH_
#define PROA_OPS_NN_ROWS_CUDA_CUH_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {

struct AxisLayout {
  int64_t outer = 1, size = 1, inner = 1;
  int64_t rows() const { return outer * inner; }
};

// Of a dense tensor; a 0-d tensor has one axis of size 1.
inline AxisLayout AxisLayoutOf(const Tensor& t, int64_t axis) {
  AxisLayout l;
  const int rank = t.rank();
  if (rank == 0) return l;
  const int at = static_cast<int>(axis < 0 ? axis + rank : axis);
  for (int d = 0; d < at; ++d) l.outer *= t.size(d);
  l.size = t.size(at);
  for (int d = at + 1; d < rank; ++d) l.inner *= t.size(d);
  return l;
}

// Rows of the dims from begin_axis on.
inline AxisLayout RowsFrom(const Tensor& t, int64_t begin_axis) {
  AxisLayout l;
  const int at =
      static_cast<int>(begin_axis < 0 ? begin_axis + t.rank() : begin_axis);
  for (int d = 0; d < at; ++d) l.outer *= t.size(d);
  for (int d = at; d < t.rank(); ++d) l.size *= t.size(d);
  return l;
}

inline constexpr int kRowThreads = 256, kMostRowThreads = 512;

// Blocks of blockDim.y rows, of blockDim.x threads each.
struct RowLaunch {
  dim3 grid, block;
};

inline RowLaunch LaunchRows(int64_t rows, int64_t size, int elements_each) {
  int width = 1;
  while (width < kMostRowThreads && int64_t{width} * elements_each < size) {
    width *= 2;
  }
  const int height = std::max(1, kRowThreads / width);
  const int64_t blocks = std::min(CeilDiv(rows, height), kMostPositions);
  return {dim3(static_cast<uint32_t>(blocks)),
          dim3(static_cast<uint32_t>(width), static_cast<uint32_t>(height))};
}

inline bool Aligned16(std::initializer_list<const void*> pointers) {
  uintptr_t all = 0;
  for (const void* p : pointers) all |= reinterpret_cast<uintptr_t>(p);
  return all % 16 == 0;
}

// visit(Number<V>{}) with the elements that are read at once: 16 bytes of them
// where rows of `size` elements of type M begin at multiples of that.
template <int V>
struct Number {
  static constexpr int value = V;
};
template <class M, class Visit>
void VisitWidth(int64_t size, bool aligned, const Visit& visit) {
  constexpr int kFull = static_cast<int>(16 / sizeof(M));
  if (aligned && size % kFull == 0) {
    visit(Number<kFull>{});
  } else {
    visit(Number<1>{});
  }
}

template <int V>
inline constexpr int kPacksOf = V > 1 ? 4 : 8;

// The packs of one row that a thread has; those after the first few stay in
// memory.
template <class M, int V>
struct RowPacks {
  static constexpr int kPacks = kPacksOf<V>;
  const M* row;
  Pack<M, V> kept[kPacks];

  __device__ __forceinline__ void Read(const M* from, int64_t size) {
    row = from;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int64_t i = (int64_t{threadIdx.x} + p * int64_t{blockDim.x}) * V;
      if (i < size) kept[p] = *reinterpret_cast<const Pack<M, V>*>(row + i);
    }
  }
};

// f(first position, values...) for each pack of this thread, the values of each
// row as C[V]. `size` is 0 for threads without a row.
template <class C, int V, class M, int kRows, class F>
__device__ __forceinline__ void ForEachPack(int64_t size,
                                            const RowPacks<M, V> (&rows)[kRows],
                                            F&& f) {
  constexpr int kPacks = kPacksOf<V>;
  C values[kRows][V];
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int64_t i = (int64_t{threadIdx.x} + p * int64_t{blockDim.x}) * V;
    if (i < size) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int k = 0; k < V; ++k) {
          values[r][k] = Load<C>(rows[r].kept[p].v[k]);
        }
      }
      f(i, values);
    }
  }
  const int64_t step = int64_t{blockDim.x} * V;
  for (int64_t i = int64_t{threadIdx.x} * V + kPacks * step; i < size;
       i += step) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const auto pack = *reinterpret_cast<const Pack<M, V>*>(rows[r].row + i);
#pragma unroll
      for (int k = 0; k < V; ++k) values[r][k] = Load<C>(pack.v[k]);
    }
    f(i, values);
  }
}

// V numbers that lie side by side, at once; `from` and `to` are aligned for it.
template <class C, int V, class M>
__device__ __forceinline__ void ReadPack(const M* from, C (&to)[V]) {
  const auto pack = *reinterpret_cast<const Pack<M, V>*>(from);
#pragma unroll
  for (int k = 0; k < V; ++k) to[k] = Load<C>(pack.v[k]);
}

template <class M, int V, class C>
__device__ __forceinline__ void WritePack(M* to, const C (&values)[V]) {
  Pack<M, V> pack;
#pragma unroll
  for (int k = 0; k < V; ++k) pack.v[k] = Store<M>(values[k]);
  *reinterpret_cast<Pack<M, V>*>(to) = pack;
}

// join over the threads of each group (blockDim.x of them, a power of two), in
// a fixed order; all of them get the result, and all threads of the block must
// come here. State is trivially copyable, of whole 4-byte words.
template <class State>
__device__ __forceinline__ State ShuffleXor(const State& s, int lanes) {
  static_assert(sizeof(State) % 4 == 0);
  State other;
  const auto* from = reinterpret_cast<const int*>(&s);
  auto* to = reinterpret_cast<int*>(&other);
#pragma unroll
  for (int w = 0; w < static_cast<int>(sizeof(State) / 4); ++w) {
    to[w] = __shfl_xor_sync(0xffffffffu, from[w], lanes);
  }
  return other;
}
template <class State, class Join>
__device__ __forceinline__ State JoinGroup(State s, const Join& join) {
  const int width = static_cast<int>(blockDim.x);
  const int t = static_cast<int>(threadIdx.y) * width + threadIdx.x;
  for (int lanes = min(width, 32) / 2; lanes > 0; lanes /= 2) {
    const State other = ShuffleXor(s, lanes);
    // The same order in both threads, for the same bits.
    s = (t & lanes) == 0 ? join(s, other) : join(other, s);
  }
  if (width <= 32) return s;
  __shared__ alignas(16) unsigned char memory[32 * sizeof(State)];
  auto* warps = reinterpret_cast<State*>(memory);
  if (t % 32 == 0) warps[t / 32] = s;
  __syncthreads();
  const int n = width / 32, first = static_cast<int>(threadIdx.y) * n;
  s = warps[first];
  for (int w = 1; w < n; ++w) s = join(s, warps[first + w]);
  __syncthreads();
  return s;
}

struct PlusJoin {
  template <class C>
  __device__ __forceinline__ C operator()(C a, C b) const {
    return a + b;
  }
};

// Two sums side by side.
template <class C>
struct TwoSums {
  C a, b;
  __device__ __forceinline__ TwoSums operator+(TwoSums o) const {
    return {a + o.a, b + o.b};
  }
};

// Element i of a floating tensor of any dtype.
template <class C>
__device__ __forceinline__ C LoadFloat(DType dtype, const void* p, int64_t i) {
  switch (dtype) {
    case DType::kFloat16:
      return Load<C>(static_cast<const __half*>(p)[i]);
    case DType::kBFloat16:
      return Load<C>(static_cast<const __nv_bfloat16*>(p)[i]);
    case DType::kFloat32:
      return static_cast<C>(static_cast<const float*>(p)[i]);
    default:
      return static_cast<C>(static_cast<const double*>(p)[i]);
  }
}

// A tensor of one value per channel or column, of any floating dtype, or none.
struct FloatArray {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;

  FloatArray() = default;
  explicit FloatArray(const Tensor& t) {
    if (!t.defined()) return;
    data = t.raw_data();
    dtype = t.dtype();
  }
  template <class C>
  __device__ __forceinline__ C At(int64_t i, C otherwise) const {
    return data != nullptr ? LoadFloat<C>(dtype, data, i) : otherwise;
  }
  // Elements [i, i + V), where i is a multiple of V.
  template <class C, int V>
  __device__ __forceinline__ void Read(int64_t i, C otherwise,
                                       C (&to)[V]) const {
    if (data == nullptr) {
#pragma unroll
      for (int k = 0; k < V; ++k) to[k] = otherwise;
      return;
    }
    switch (dtype) {
      case DType::kFloat16:
        return ReadAs<__half>(i, to);
      case DType::kBFloat16:
        return ReadAs<__nv_bfloat16>(i, to);
      case DType::kFloat32:
        return ReadAs<float>(i, to);
      default:
        return ReadAs<double>(i, to);
    }
  }

 private:
  template <class M, class C, int V>
  __device__ __forceinline__ void ReadAs(int64_t i, C (&to)[V]) const {
    const M* from = static_cast<const M*>(data) + i;
    if (V > 1 && reinterpret_cast<uintptr_t>(data) % (V * sizeof(M)) == 0) {
      // At most 16 bytes a read, whatever the alignment asked for.
      constexpr int kAtOnce =
          V * sizeof(M) > 16 ? static_cast<int>(16 / sizeof(M)) : V;
#pragma unroll
      for (int k = 0; k < V; k += kAtOnce) {
        const auto pack = *reinterpret_cast<const Pack<M, kAtOnce>*>(from + k);
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) to[k + j] = Load<C>(pack.v[j]);
      }
      return;
    }
#pragma unroll
    for (int k = 0; k < V; ++k) to[k] = Load<C>(from[k]);
  }
};

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_NN_ROWS_CUDA_CUH_
