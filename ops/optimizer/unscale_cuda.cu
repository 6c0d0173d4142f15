// Kernels of loss scalers: all tensors of a dtype in as few launches as their
// number allows, and nothing is copied to the host.
#include <cstdint>
#include <type_traits>

#include "ops/optimizer/lists.h"
#include "ops/optimizer/rows_cuda.h"
#include "ops/optimizer/unscale_kernels.h"
#include "ops/optimizer/unscale_ops.h"
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
  char* data[kMostTensors];
  int64_t size[kMostTensors];
  uint32_t chunk[kMostBlocks];
  uint8_t tensor[kMostBlocks];
};

// Sets *found to `value` if an element is not finite; kWrite: after it was
// multiplied, and the product is written.
template <class T, bool kWrite>
__global__ void __launch_bounds__(kThreads)
    LookAt(const __grid_constant__ Batch batch, double factor, uint8_t value,
           uint8_t* found) {
  using M = Memory<T>;
  using W = Compute<T>;
  const int t = batch.tensor[blockIdx.x];
  const int64_t begin = int64_t{batch.chunk[blockIdx.x]} * kChunk;
  const int64_t end = min(begin + kChunk, batch.size[t]);
  auto* x = reinterpret_cast<M*>(batch.data[t]);
  const W f = static_cast<W>(factor);
  bool bad = false;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    W v = Load<W>(x[i]);
    if constexpr (kWrite) {
      const M product = Store<M>(v * f);
      x[i] = product;
      v = Load<W>(product);
    }
    bad |= !isfinite(v);
  }
  if (bad) *found = value;  // all who write write the same
}

__global__ void Set(uint8_t* out, uint8_t value) { *out = value; }

template <bool kWrite>
void LookAtAll(const KernelContext& ctx, std::span<const Tensor> xs,
               double factor, uint8_t value, uint8_t* found) {
  const cudaStream_t stream = StreamOf(ctx);
  for (const DType dtype :
       {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kFloat64}) {
    Batch batch;
    int tensors = 0, n = 0;
    const auto flush = [&] {
      if (n == 0) return;
      VisitFloat(dtype, [&]<class T>(Tag<T>) {
        LookAt<T, kWrite>
            <<<n, kThreads, 0, stream>>>(batch, factor, value, found);
      });
      CheckLaunch("look for NaN and Inf");
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
}

}  // namespace

void AllFinite(const KernelContext& ctx, std::span<const Tensor> xs,
               Tensor* out) {
  optimizer::CheckFloating("all_finite", "xs", xs);
  if (AnyRows(xs)) {
    const Value args[] = {BoxArgument(xs)};
    Value result[1];
    CallOnHost(op::AllFinite::definition, ctx.place, args, result);
    return CopyInto(std::get<Tensor>(result[0]), *out);
  }
  auto* flag = reinterpret_cast<uint8_t*>(out->data<bool>());
  Set<<<1, 1, 0, StreamOf(ctx)>>>(flag, 1);
  LookAtAll<false>(ctx, xs, 1.0, 0, flag);
}

void CheckFiniteAndUnscale(const KernelContext& ctx, std::span<const Tensor> xs,
                           const Tensor& found_inf, double factor) {
  optimizer::CheckUnscale("check_finite_and_unscale_", xs, found_inf);
  LookAtAll<true>(ctx, xs, factor, 1,
                  reinterpret_cast<uint8_t*>(found_inf.data<bool>()));
}

}  // namespace proa::inline v0::ops::cuda
