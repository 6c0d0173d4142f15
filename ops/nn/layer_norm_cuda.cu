// Kernels of layer_norm.yaml. A row is the part of x that is normalized
// together; its statistics are computed again in the gradients, as on the CPU.
#include <optional>

#include "ops/nn/floats_cuda.h"
#include "ops/nn/layer_norm_kernels.h"
#include "ops/nn/rows_cuda.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

template <class C>
struct Moments {
  C mean, inv_std;
};

// Of a row in `packs[kAt]`; the deviations are those from the mean itself.
template <class C, int V, int kAt, class M, int kRows>
__device__ __forceinline__ Moments<C> MomentsOf(
    const RowPacks<M, V> (&packs)[kRows], int64_t n, int64_t size, C epsilon) {
  C sum = C(0);
  ForEachPack<C, V>(n, packs, [&](int64_t, const C(&v)[kRows][V]) {
#pragma unroll
    for (int k = 0; k < V; ++k) sum += v[kAt][k];
  });
  const C mean = JoinGroup(sum, PlusJoin{}) / static_cast<C>(size);
  C squares = C(0);
  ForEachPack<C, V>(n, packs, [&](int64_t, const C(&v)[kRows][V]) {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const C d = v[kAt][k] - mean;
      squares += d * d;
    }
  });
  const C variance = JoinGroup(squares, PlusJoin{}) / static_cast<C>(size);
  return {mean, C(1) / sqrt(variance + epsilon)};
}

template <class T, int V>
__global__ void __launch_bounds__(kMostRowThreads)
    Forward(const Memory<T>* x, FloatArray weight, FloatArray bias,
            Memory<T>* out, int64_t rows, int64_t size, Compute<T> epsilon) {
  using M = Memory<T>;
  using C = Compute<T>;
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < rows;
       first += step) {
    const int64_t row = first + threadIdx.y;
    const int64_t n = row < rows ? size : 0;
    const int64_t start = row < rows ? row * size : 0;
    RowPacks<M, V> packs[1];
    packs[0].Read(x + start, n);
    const Moments<C> m = MomentsOf<C, V, 0>(packs, n, size, epsilon);
    ForEachPack<C, V>(n, packs, [&](int64_t i, const C(&v)[1][V]) {
      C w[V], b[V], y[V];
      weight.Read(i, C(1), w);
      bias.Read(i, C(0), b);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        y[k] = (v[0][k] - m.mean) * m.inv_std * w[k] + b[k];
      }
      WritePack<M, V>(out + start + i, y);
    });
  }
}

// With h = grad_out * weight and xh the normalized row:
// x_grad = inv_std * (h - mean(h) - xh * mean(h * xh)).
template <class T, int V>
__global__ void __launch_bounds__(kMostRowThreads)
    InputGrad(const Memory<T>* grad_out, const Memory<T>* x, FloatArray weight,
              Memory<T>* x_grad, int64_t rows, int64_t size,
              Compute<T> epsilon) {
  using M = Memory<T>;
  using C = Compute<T>;
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < rows;
       first += step) {
    const int64_t row = first + threadIdx.y;
    const int64_t n = row < rows ? size : 0;
    const int64_t start = row < rows ? row * size : 0;
    RowPacks<M, V> packs[2];
    packs[0].Read(x + start, n);
    packs[1].Read(grad_out + start, n);
    const Moments<C> m = MomentsOf<C, V, 0>(packs, n, size, epsilon);
    TwoSums<C> sums = {C(0), C(0)};
    ForEachPack<C, V>(n, packs, [&](int64_t i, const C(&v)[2][V]) {
      C w[V];
      weight.Read(i, C(1), w);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const C h = v[1][k] * w[k];
        sums.a += h;
        sums.b += h * (v[0][k] - m.mean);
      }
    });
    sums = JoinGroup(sums, PlusJoin{});
    const C mean_h = sums.a / static_cast<C>(size);
    const C mean_hx = sums.b * m.inv_std / static_cast<C>(size);
    ForEachPack<C, V>(n, packs, [&](int64_t i, const C(&v)[2][V]) {
      C w[V], g[V];
      weight.Read(i, C(1), w);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const C xh = (v[0][k] - m.mean) * m.inv_std;
        g[k] = m.inv_std * (v[1][k] * w[k] - mean_h - xh * mean_hx);
      }
      WritePack<M, V>(x_grad + start + i, g);
    });
  }
}

template <class T, int V>
__global__ void __launch_bounds__(kMostRowThreads)
    RowMoments(const Memory<T>* x, Moments<Compute<T>>* moments, int64_t rows,
               int64_t size, Compute<T> epsilon) {
  using C = Compute<T>;
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < rows;
       first += step) {
    const int64_t row = first + threadIdx.y;
    const int64_t n = row < rows ? size : 0;
    RowPacks<Memory<T>, V> packs[1];
    packs[0].Read(x + (row < rows ? row * size : 0), n);
    const Moments<C> m = MomentsOf<C, V, 0>(packs, n, size, epsilon);
    if (threadIdx.x == 0 && row < rows) moments[row] = m;
  }
}

inline constexpr int kColumns = 32, kColumnRows = 8;

// Sums of grad_out * xh over the rows of a part, for each column.
template <class T>
__global__ void __launch_bounds__(kColumns* kColumnRows)
    WeightGradParts(const Memory<T>* grad_out, const Memory<T>* x,
                    const Moments<Compute<T>>* moments, int64_t rows,
                    int64_t size, int64_t part_rows, Compute<T>* parts) {
  using C = Compute<T>;
  const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  const int64_t begin = blockIdx.y * part_rows;
  const int64_t end = min(begin + part_rows, rows);
  C sum = C(0);
  if (column < size) {
#pragma unroll 4
    for (int64_t r = begin + threadIdx.y; r < end; r += kColumnRows) {
      const Moments<C> m = moments[r];
      const int64_t i = r * size + column;
      sum += Load<C>(grad_out[i]) * ((Load<C>(x[i]) - m.mean) * m.inv_std);
    }
  }
  __shared__ C sums[kColumnRows][kColumns];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= size) return;
#pragma unroll
  for (int y = 1; y < kColumnRows; ++y) sum += sums[y][threadIdx.x];
  parts[blockIdx.y * size + column] = sum;
}

template <class C, class M>
__global__ void JoinParts(const C* parts, int count, int64_t size, M* out) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= size) return;
  C sum = C(0);
  for (int p = 0; p < count; ++p) sum += parts[p * size + column];
  out[column] = Store<M>(sum);
}

// Vectors where the weights, too, lie at multiples of 16 bytes.
template <class M, class Visit>
void Launch(const AxisLayout& l, std::initializer_list<const void*> pointers,
            const Visit& visit) {
  VisitWidth<M>(l.size, Aligned16(pointers), [&]<int V>(Number<V> v) {
    visit(v, LaunchRows(l.outer, l.size, V * kPacksOf<V>));
  });
  CheckLaunch("layer_norm");
}

}  // namespace

void LayerNorm(const KernelContext& ctx, const Tensor& x, const Tensor& weight,
               const Tensor& bias, int64_t begin_axis, double epsilon,
               Tensor* out) {
  const AxisLayout l = RowsFrom(x, begin_axis);
  if (x.numel() == 0) return;
  const cudaStream_t stream = StreamOf(ctx);
  const Tensor w = AnyFloatsOf(weight), b = AnyFloatsOf(bias);
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    Launch<M>(l, {x.raw_data(), out->raw_data()},
              [&]<int V>(Number<V>, const RowLaunch& launch) {
                Forward<T, V><<<launch.grid, launch.block, 0, stream>>>(
                    static_cast<const M*>(x.raw_data()), FloatArray(w),
                    FloatArray(b), static_cast<M*>(out->raw_data()), l.outer,
                    l.size, static_cast<Compute<T>>(epsilon));
              });
  });
}

void LayerNormInputGrad(const KernelContext& ctx, const Tensor& grad_out,
                        const Tensor& x, const Tensor& weight,
                        int64_t begin_axis, double epsilon, Tensor* x_grad) {
  const AxisLayout l = RowsFrom(x, begin_axis);
  if (x.numel() == 0) return;
  const cudaStream_t stream = StreamOf(ctx);
  const Tensor w = AnyFloatsOf(weight);
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    Launch<M>(l, {x.raw_data(), grad_out.raw_data(), x_grad->raw_data()},
              [&]<int V>(Number<V>, const RowLaunch& launch) {
                InputGrad<T, V><<<launch.grid, launch.block, 0, stream>>>(
                    static_cast<const M*>(grad_out.raw_data()),
                    static_cast<const M*>(x.raw_data()), FloatArray(w),
                    static_cast<M*>(x_grad->raw_data()), l.outer, l.size,
                    static_cast<Compute<T>>(epsilon));
              });
  });
}

// Rows go in parts whose number depends on the shape only; their sums are added
// up in order.
void LayerNormWeightGrad(const KernelContext& ctx, const Tensor& grad_out,
                         const Tensor& x, int64_t begin_axis, double epsilon,
                         std::optional<DType>, Tensor* weight_grad) {
  constexpr int64_t kMostParts = 128, kLeastRows = 64;
  const AxisLayout l = RowsFrom(x, begin_axis);
  if (l.size == 0) return;
  const cudaStream_t stream = StreamOf(ctx);
  if (l.outer == 0) {
    CheckCuda(
        cudaMemsetAsync(weight_grad->raw_data(), 0,
                        static_cast<size_t>(weight_grad->bytes()), stream),
        "cudaMemsetAsync");
    return;
  }
  const int64_t part_rows = std::max(kLeastRows, CeilDiv(l.outer, kMostParts));
  const int64_t parts = CeilDiv(l.outer, part_rows);
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    using C = Compute<T>;
    const auto* px = static_cast<const M*>(x.raw_data());
    const Workspace moments(ctx,
                            l.outer * static_cast<int64_t>(sizeof(Moments<C>)));
    const Workspace sums(ctx, parts * l.size * static_cast<int64_t>(sizeof(C)));
    Launch<M>(l, {px}, [&]<int V>(Number<V>, const RowLaunch& launch) {
      RowMoments<T, V><<<launch.grid, launch.block, 0, stream>>>(
          px, moments.as<Moments<C>>(), l.outer, l.size,
          static_cast<C>(epsilon));
    });
    const dim3 grid(static_cast<uint32_t>(CeilDiv(l.size, kColumns)),
                    static_cast<uint32_t>(parts));
    WeightGradParts<T><<<grid, dim3(kColumns, kColumnRows), 0, stream>>>(
        static_cast<const M*>(grad_out.raw_data()), px,
        moments.as<Moments<C>>(), l.outer, l.size, part_rows, sums.as<C>());
    CheckLaunch("layer_norm_weight_grad");
    const auto join = [&]<class R>(R* to) {
      JoinParts<C, R>
          <<<static_cast<uint32_t>(CeilDiv(l.size, 256)), 256, 0, stream>>>(
              sums.as<C>(), static_cast<int>(parts), l.size, to);
    };
    if (weight_grad->dtype() == x.dtype()) {
      join(static_cast<M*>(weight_grad->raw_data()));
    } else {
      join(static_cast<C*>(weight_grad->raw_data()));
    }
    CheckLaunch("layer_norm_weight_grad");
  });
}

}  // namespace proa::inline v0::ops::cuda
