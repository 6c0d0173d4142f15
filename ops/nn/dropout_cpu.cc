// Kernels of dropout, compiled once per instruction set. Element i is decided by
// word i of the reserved Philox sequence, so the result does not depend on threads.
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

// The words of kBlocks blocks from `first` on, as PhiloxStream::Block gives them,
// with the loops turned so that they vectorize.
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
    for (int b = 0; b < kBlocks; ++b) {
      const uint64_t x = uint64_t{0xD2511F53} * c0[b];
      const uint64_t y = uint64_t{0xCD9E8D57} * c2[b];
      c0[b] = static_cast<uint32_t>(y >> 32) ^ c1[b] ^ k0;
      c1[b] = static_cast<uint32_t>(y);
      c2[b] = static_cast<uint32_t>(x >> 32) ^ c3[b] ^ k1;
      c3[b] = static_cast<uint32_t>(x);
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
void Apply(const T* x, const bool* mask, double scale, int64_t n, T* y) {
  using A = typename Accumulate<T>::type;
  const A factor = static_cast<A>(scale);
  for (int64_t i = 0; i < n; ++i) {
    const A v = static_cast<A>(x[i]) * factor;
    y[i] = mask == nullptr || mask[i] ? T(v) : T(A(0));
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
    const float least = static_cast<float>(p);
    parallel_for(0, (n + kWords - 1) / kWords, 64, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        uint32_t words[kWords];
        Words(stream, k * kBlocks, words);
        bool kept[kWords];
        for (int i = 0; i < kWords; ++i) kept[i] = UniformFloat(words[i]) >= least;
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
