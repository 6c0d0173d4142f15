// Kernels of dropout, compiled once per instruction set. Element i is decided
// by word i of the reserved Philox sequence, so the result does not depend on
// threads.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/nn/dropout_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/philox_words.h"
#include "ops/primitives/cpu/streaming.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Elements that are worked on together. Few: stores past the caches take their
// time, in which the words of the next elements can be computed.
constexpr int64_t kTogether = 256;

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

// y = x * scale and kept = 1 where words[i] >= least, else both 0.
template <typename T>
void Decide(const T* __restrict x, const uint32_t* __restrict words,
            uint64_t least, double scale, int64_t n, T* __restrict y,
            uint8_t* __restrict kept) {
  using A = typename Accumulate<T>::type;
  if (least >> 32 != 0) {
    std::memset(kept, 0, n);
    std::fill_n(y, n, T(0));
    return;
  }
  const uint32_t low = static_cast<uint32_t>(least);
  const A factor = static_cast<A>(scale);
  for (int64_t i = 0; i < n; ++i) kept[i] = words[i] >= low;
  for (int64_t i = 0; i < n; ++i) {
    const A v = static_cast<A>(x[i]) * factor;
    y[i] = T(words[i] >= low ? v : A(0));
  }
}

// y = x * (mask ? scale : 0); `mask`, of bytes 0 and 1, may be null for all 1.
// (gcc makes a branch of a bool, and nothing can predict this one.)
template <typename T>
void Apply(const T* __restrict x, const uint8_t* __restrict kept, double scale,
           int64_t n, T* __restrict y) {
  using A = typename Accumulate<T>::type;
  const A factor = static_cast<A>(scale);
  if (kept == nullptr) {
    for (int64_t i = 0; i < n; ++i) y[i] = T(static_cast<A>(x[i]) * factor);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const A v = static_cast<A>(x[i]) * factor;
    const int32_t keep = kept[i];
    y[i] = T(keep != 0 ? v : A(0));
  }
}

}  // namespace

void Dropout(const KernelContext& ctx, const Tensor& x, double p, bool training,
             std::string_view mode, Tensor* out, Tensor* mask) {
  const int64_t n = x.numel();
  const double scale = Scale(p, training, mode);
  bool* const keep = mask->data<bool>();
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = x.data<T>();
    T* to = out->data<T>();
    if (!training) {
      if (n > 0) std::memset(keep, 1, n);
      Apply<T>(from, nullptr, scale, n, to);
      return;
    }
    const PhiloxStream stream = ctx.generator().Reserve(n);
    const uint64_t least = LeastKept(p);
    const bool stream_out = from != to && cpu::PaysToStream(9 * n);
    parallel_for(0, (n + kTogether - 1) / kTogether, 64,
                 [&](int64_t begin, int64_t end) {
                   const PhiloxVectors vectors(stream);
                   alignas(64) uint32_t words[kTogether];
                   alignas(64) uint8_t kept[kTogether];
                   alignas(64) T result[kTogether];
                   for (int64_t k = begin; k < end; ++k) {
                     const int64_t first = k * kTogether;
                     const int64_t count = std::min(kTogether, n - first);
                     // The next elements come while words are computed.
                     for (int64_t i = 0; i < count; i += 64 / sizeof(T)) {
                       __builtin_prefetch(from + first + kTogether + i);
                     }
                     vectors.Words(
                         first / 4,
                         (count + kPhiloxStep - 1) / kPhiloxStep * kPhiloxStep,
                         words);
                     T* y = stream_out ? result : to + first;
                     Decide(from + first, words, least, scale, count, y, kept);
                     if (stream_out) {
                       StreamCopy(to + first, result, count * sizeof(T));
                       StreamCopy(keep + first, kept, count);
                     } else {
                       std::memcpy(keep + first, kept, count);
                     }
                   }
                   if (stream_out) StreamFence();
                 });
  });
}

void DropoutGrad(const KernelContext& ctx, const Tensor& grad_out,
                 const Tensor& mask, double p, bool training,
                 std::string_view mode, Tensor* x_grad) {
  const double scale = Scale(p, training, mode);
  VisitFloat(grad_out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(0, grad_out.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      Apply(grad_out.data<T>() + begin, mask.data<uint8_t>() + begin, scale,
            end - begin, x_grad->data<T>() + begin);
    });
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
