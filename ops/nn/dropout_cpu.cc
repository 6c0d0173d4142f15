// Kernels of dropout, compiled once per instruction set. Element i is decided
// by word i of the reserved Philox sequence, so the result does not depend on
// threads.
#include <cmath>
#include <cstring>

#include "ops/nn/float_copy.h"
#include "ops/nn/nn_kernels.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

constexpr int kBlocks = 16;          // Philox blocks computed side by side
constexpr int kWords = 4 * kBlocks;  // numbers in them

// Both halves of factor * c[b]; loops of one product each are what gcc
// vectorizes.
inline void MultiplyWide(uint32_t factor, const uint32_t* __restrict c,
                         uint32_t* __restrict high, uint32_t* __restrict low) {
  for (int b = 0; b < kBlocks; ++b) {
    const uint64_t product = uint64_t{factor} * c[b];
    low[b] = static_cast<uint32_t>(product);
    high[b] = static_cast<uint32_t>(product >> 32);
  }
}

// The words of kBlocks blocks from `first` on, as PhiloxStream::Block gives
// them, with the loops turned so that they vectorize.
void Words(const PhiloxStream& stream, uint64_t first, uint32_t words[kWords]) {
  uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks] = {}, c3[kBlocks] = {};
  for (int b = 0; b < kBlocks; ++b) {
    const uint64_t n = stream.offset() + first + b;
    c0[b] = static_cast<uint32_t>(n);
    c1[b] = static_cast<uint32_t>(n >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(stream.seed());
  uint32_t k1 = static_cast<uint32_t>(stream.seed() >> 32);
  for (int round = 0; round < 10; ++round) {
    uint32_t x_low[kBlocks], x_high[kBlocks], y_low[kBlocks], y_high[kBlocks];
    MultiplyWide(0xD2511F53, c0, x_high, x_low);
    MultiplyWide(0xCD9E8D57, c2, y_high, y_low);
    for (int b = 0; b < kBlocks; ++b) {
      c0[b] = y_high[b] ^ c1[b] ^ k0;
      c1[b] = y_low[b];
      c2[b] = x_high[b] ^ c3[b] ^ k1;
      c3[b] = x_low[b];
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (int b = 0; b < kBlocks; ++b) {
    words[4 * b] = c0[b];
    words[4 * b + 1] = c1[b];
    words[4 * b + 2] = c2[b];
    words[4 * b + 3] = c3[b];
  }
}

// What a kept element is multiplied with.
double Scale(double p, bool training, std::string_view mode) {
  const bool upscale = mode == "upscale_in_train";
  if (!training) return upscale ? 1.0 : 1.0 - p;
  if (!upscale) return 1.0;
  return p < 1.0 ? 1.0 / (1.0 - p) : 0.0;
}

// y = x * (mask ? scale : 0); `mask` may be null for all true.
template <typename T>
void Apply(const T* __restrict x, const bool* __restrict mask, double scale,
           int64_t n, T* __restrict y) {
  using A = typename Accumulate<T>::type;
  const A factor = static_cast<A>(scale);
  if (mask == nullptr) {
    for (int64_t i = 0; i < n; ++i) y[i] = T(static_cast<A>(x[i]) * factor);
    return;
  }
  // As bytes: gcc makes a branch of a bool, and nothing can predict this one.
  const auto* kept = reinterpret_cast<const uint8_t*>(mask);
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
    const PhiloxStream stream = DefaultGenerator(ctx.place).Reserve(n);
    // UniformFloat(word) >= p, asked of the integer behind it.
    const auto least = static_cast<uint32_t>(std::ceil(p * 0x1p24));
    parallel_for(
        0, (n + kWords - 1) / kWords, 64, [&](int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; ++k) {
            uint32_t words[kWords];
            Words(stream, k * kBlocks, words);
            bool kept[kWords];
            for (int i = 0; i < kWords; ++i) kept[i] = (words[i] >> 8) >= least;
            const int64_t first = k * kWords;
            const int64_t count = n - first < kWords ? n - first : kWords;
            std::memcpy(keep + first, kept, count);
            Apply(from + first, kept, scale, count, to + first);
          }
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
      Apply(grad_out.data<T>() + begin, mask.data<bool>() + begin, scale,
            end - begin, x_grad->data<T>() + begin);
    });
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
