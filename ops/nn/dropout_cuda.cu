// Kernels of dropout.yaml. Element i is decided by word i of the reserved
// Philox sequence: the same seed drops the same elements as on the CPU.
#include <cmath>

#include "ops/nn/dropout_kernels.h"
#include "ops/nn/rows_cuda.cuh"
#include "tensor/copy.h"
#include "tensor/generator.h"
#include "tensor/memory_order.h"
#include "tensor/philox.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;

// What a kept element is multiplied with.
double Scale(double p, bool training, std::string_view mode) {
  const bool upscale = mode == "upscale_in_train";
  if (!training) return upscale ? 1.0 : 1.0 - p;
  if (!upscale) return 1.0;
  return p < 1.0 ? 1.0 / (1.0 - p) : 0.0;
}

// The least word of an element that is kept: UniformFloat(word) >= p, asked of
// the integer behind it. 2^32 where none is.
uint64_t LeastKept(double p) {
  return static_cast<uint64_t>(std::ceil(p * 0x1p24)) << 8;
}

// Elements of a thread: those of a block of four words, or of two.
template <class M>
inline constexpr int kEach = sizeof(M) == 2 ? 8 : 4;

// y = x * (kept ? factor : 0) for kEach elements, of which those before n are
// there. What keeps: `words`, or else `mask`, or else everything; `kept` is
// written unless null.
template <class T>
__global__ void __launch_bounds__(kThreads)
    Drop(const Memory<T>* x, bool draw, PhiloxStream words, uint64_t least,
         const uint8_t* mask, Compute<T> factor, int64_t n, bool aligned,
         Memory<T>* y, uint8_t* kept) {
  using M = Memory<T>;
  using C = Compute<T>;
  constexpr int kN = kEach<M>, kAtOnce = static_cast<int>(16 / sizeof(M));
  const int64_t first = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kN;
  if (first >= n) return;
  const bool whole = aligned && first + kN <= n;
  M v[kN];
  Pack<uint8_t, kN> keep;
  if (whole) {
#pragma unroll
    for (int k = 0; k < kN; k += kAtOnce) {
      const auto pack =
          *reinterpret_cast<const Pack<M, kAtOnce>*>(x + first + k);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) v[k + j] = pack.v[j];
    }
  } else {
#pragma unroll
    for (int k = 0; k < kN; ++k) {
      if (first + k < n) v[k] = x[first + k];
    }
  }
  if (draw) {
#pragma unroll
    for (int k = 0; k < kN; k += 4) {
      const auto block = words.Block(static_cast<uint64_t>(first + k) / 4);
#pragma unroll
      for (int j = 0; j < 4; ++j) keep.v[k + j] = block[j] >= least ? 1 : 0;
    }
  } else if (mask == nullptr) {
#pragma unroll
    for (int k = 0; k < kN; ++k) keep.v[k] = 1;
  } else if (whole) {
    keep = *reinterpret_cast<const Pack<uint8_t, kN>*>(mask + first);
  } else {
#pragma unroll
    for (int k = 0; k < kN; ++k) {
      if (first + k < n) keep.v[k] = mask[first + k];
    }
  }
#pragma unroll
  for (int k = 0; k < kN; ++k) {
    if (!whole && first + k >= n) continue;
    v[k] = Store<M>(keep.v[k] != 0 ? Load<C>(v[k]) * factor : C(0));
  }
  if (whole) {
#pragma unroll
    for (int k = 0; k < kN; k += kAtOnce) {
      Pack<M, kAtOnce> pack;
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) pack.v[j] = v[k + j];
      *reinterpret_cast<Pack<M, kAtOnce>*>(y + first + k) = pack;
    }
    if (kept != nullptr) {
      *reinterpret_cast<Pack<uint8_t, kN>*>(kept + first) = keep;
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < kN; ++k) {
    if (first + k >= n) continue;
    y[first + k] = v[k];
    if (kept != nullptr) kept[first + k] = keep.v[k];
  }
}

void Launch(const KernelContext& ctx, const Tensor& x, bool draw,
            const PhiloxStream& words, double p, const Tensor& mask,
            double scale, const Tensor& y, const Tensor& kept) {
  const int64_t n = x.numel();
  if (n == 0) return;
  const auto* keep = mask.defined() ? mask.raw_data() : nullptr;
  auto* to = kept.defined() ? kept.raw_data() : nullptr;
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    const int64_t blocks = CeilDiv(n, int64_t{kThreads} * kEach<M>);
    Drop<T><<<static_cast<uint32_t>(blocks), kThreads, 0, StreamOf(ctx)>>>(
        static_cast<const M*>(x.raw_data()), draw, words, LeastKept(p),
        static_cast<const uint8_t*>(keep), static_cast<Compute<T>>(scale), n,
        Aligned16({x.raw_data(), y.raw_data(), keep, to}),
        static_cast<M*>(y.raw_data()), static_cast<uint8_t*>(to));
  });
  CheckLaunch("dropout");
}

}  // namespace

void Dropout(const KernelContext& ctx, const Tensor& x, double p, bool training,
             std::string_view mode, Tensor* out, Tensor* mask) {
  const PhiloxStream words =
      training ? ctx.generator().Reserve(x.numel()) : PhiloxStream(0, 0);
  const double scale = Scale(p, training, mode);
  const MemoryOrder order = OrderOf(*out);
  if (!training || order == MemoryOrder::kRowMajor) {
    return Launch(ctx, InOrder(x, order), training, words, p, Tensor(), scale,
                  *out, *mask);
  }
  // Words are those of places in row-major order.
  const Tensor y = Tensor::Empty(x.shape(), x.dtype(), x.place());
  const Tensor kept = Tensor::Empty(x.shape(), DType::kBool, x.place());
  Launch(ctx, Contiguous(x), training, words, p, Tensor(), scale, y, kept);
  CopyInto(y, *out, /*blocking=*/false);
  CopyInto(kept, *mask, /*blocking=*/false);
}

void DropoutGrad(const KernelContext& ctx, const Tensor& grad_out,
                 const Tensor& mask, double p, bool training,
                 std::string_view mode, Tensor* x_grad) {
  const MemoryOrder order = OrderOf(*x_grad);
  Launch(ctx, InOrder(grad_out, order), false, PhiloxStream(0, 0), p,
         InOrder(mask, order), Scale(p, training, mode), *x_grad, Tensor());
}

}  // namespace proa::inline v0::ops::cuda
