// Kernels of norms of lists.
#include <cstdint>
#include <vector>

#include "ops/optimizer/lists.h"
#include "ops/optimizer/norm_kernels.h"
#include "ops/optimizer/norm_ops.h"
#include "ops/optimizer/rows_cuda.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/numbers.cuh"
#include "ops/primitives/cuda/visit.cuh"
#include "tensor/copy.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kChunk = 1 << 15;  // elements of a block
constexpr int kMostTensors = 255;
constexpr int kMostBlocks = 2048;

struct Batch {
  const char* data[kMostTensors];
  int64_t size[kMostTensors];
  uint32_t chunk[kMostBlocks];
  uint8_t tensor[kMostBlocks];
};

// The same bits each time: in the order of the threads.
__device__ double SumOfBlock(double value) {
  __shared__ double sums[kThreads];
  sums[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return sums[0];
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    SumSquares(const __grid_constant__ Batch batch, double* sums) {
  using M = Memory<T>;
  const int t = batch.tensor[blockIdx.x];
  const int64_t begin = int64_t{batch.chunk[blockIdx.x]} * kChunk;
  const int64_t end = min(begin + kChunk, batch.size[t]);
  const auto* x = reinterpret_cast<const M*>(batch.data[t]);
  double sum[4] = {};
  int64_t i = begin + threadIdx.x;
  for (; i + 3 * kThreads < end; i += 4 * kThreads) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const double v =
          static_cast<double>(Load<Compute<T>>(x[i + k * kThreads]));
      sum[k] += v * v;
    }
  }
  for (; i < end; i += kThreads) {
    const double v = static_cast<double>(Load<Compute<T>>(x[i]));
    sum[0] += v * v;
  }
  const double total = SumOfBlock((sum[0] + sum[1]) + (sum[2] + sum[3]));
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(kThreads)
    SumAll(const double* sums, int64_t n, double* out) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += sums[i];
  const double total = SumOfBlock(sum);
  if (threadIdx.x == 0) *out = total;
}

}  // namespace

void SquaredNorm(const KernelContext& ctx, std::span<const Tensor> xs,
                 Tensor* out) {
  optimizer::CheckFloating("squared_norm", "xs", xs);
  if (AnyRows(xs)) {
    const Value args[] = {BoxArgument(xs)};
    Value result[1];
    CallOnHost(op::SquaredNorm::definition, ctx.place, args, result);
    return CopyInto(std::get<Tensor>(result[0]), *out);
  }
  int64_t blocks = 0;
  for (const Tensor& x : xs) blocks += CeilDiv(x.numel(), kChunk);
  const Workspace memory(ctx, blocks * static_cast<int64_t>(sizeof(double)));
  auto* sums = memory.as<double>();
  const cudaStream_t stream = StreamOf(ctx);
  int64_t done = 0;
  for (const DType dtype :
       {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kFloat64}) {
    Batch batch;
    int tensors = 0, n = 0;
    const auto flush = [&] {
      if (n == 0) return;
      VisitFloat(dtype, [&]<class T>(Tag<T>) {
        SumSquares<T><<<n, kThreads, 0, stream>>>(batch, sums + done);
      });
      CheckLaunch("sums of squares");
      done += n;
      tensors = n = 0;
    };
    for (const Tensor& x : xs) {
      if (x.dtype() != dtype) continue;
      int t = -1;
      for (int64_t c = 0; c < CeilDiv(x.numel(), kChunk); ++c) {
        if (n == kMostBlocks || (t < 0 && tensors == kMostTensors)) {
          flush();
          t = -1;
        }
        if (t < 0) {
          t = tensors++;
          batch.data[t] = x.data<char>();
          batch.size[t] = x.numel();
        }
        batch.chunk[n] = static_cast<uint32_t>(c);
        batch.tensor[n++] = static_cast<uint8_t>(t);
      }
    }
    flush();
  }
  SumAll<<<1, kThreads, 0, stream>>>(sums, blocks, out->data<double>());
  CheckLaunch("sums of squares");
}

}  // namespace proa::inline v0::ops::cuda
