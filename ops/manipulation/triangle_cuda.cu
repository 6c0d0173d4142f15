// Kernels of triangle.yaml: triangles of matrices.
#include <algorithm>
#include <cstdint>

#include "ops/manipulation/triangle_kernels.h"
#include "ops/primitives/cuda/divide.cuh"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/visit.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;

// Keeps element [i, j] if j - i <= diagonal (lower) or >= (upper). `x` may be
// `out`.
template <class Item>
__global__ void __launch_bounds__(kThreads)
    KeepTriangle(const Item* x, Item* out, int64_t total, int64_t rows,
                 int64_t cols, int64_t diagonal, bool lower,
                 FlatDivider by_cols, FlatDivider by_rows) {
  const int64_t first =
      int64_t{blockIdx.x} * (kThreads * kPerThread) + threadIdx.x;
  Item items[kPerThread];
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const int64_t at = first + k * kThreads;
    if (at >= total) break;
    const int64_t row = by_cols.Quotient(at), j = at - row * cols;
    const int64_t i = row - by_rows.Quotient(row) * rows;
    const bool kept = lower ? j - i <= diagonal : j - i >= diagonal;
    items[k] = kept ? x[at] : Item{};
  }
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const int64_t at = first + k * kThreads;
    if (at < total) out[at] = items[k];
  }
}

void Triangle(const KernelContext& ctx, const Tensor& x, int64_t diagonal,
              bool lower, Tensor* out) {
  const int64_t total = x.numel();
  if (total == 0) return;
  const int64_t rows = x.size(x.rank() - 2), cols = x.size(x.rank() - 1);
  const cudaStream_t stream = StreamOf(ctx);
  VisitSize(ItemSize(x.dtype()), [&]<class Item>(Tag<Item>) {
    KeepTriangle<Item>
        <<<static_cast<uint32_t>(CeilDiv(total, kThreads * kPerThread)),
           kThreads, 0, stream>>>(
            static_cast<const Item*>(x.raw_data()),
            static_cast<Item*>(out->raw_data()), total, rows, cols, diagonal,
            lower, FlatDivider(cols, total), FlatDivider(rows, total));
  });
  CheckLaunch("triangle");
}

}  // namespace

void Tril(const KernelContext& ctx, const Tensor& x, int64_t diagonal,
          Tensor* out) {
  Triangle(ctx, x, diagonal, /*lower=*/true, out);
}

void Triu(const KernelContext& ctx, const Tensor& x, int64_t diagonal,
          Tensor* out) {
  Triangle(ctx, x, diagonal, /*lower=*/false, out);
}

}  // namespace proa::inline v0::ops::cuda
