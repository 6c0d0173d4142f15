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
#include "tensor/memory_order.h"
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

// The same for an image that lies channels-last: its elements are decided by
// the words of their places in row-major order, so that what is dropped does
// not depend on how it lies. Words of runs of pixels, for some channels, become
// pixels of these channels in a tile that stays in the L1 cache.
template <typename T>
class ImageDropout {
 public:
  ImageDropout(const Tensor& image, const PhiloxStream& stream, uint32_t least,
               double scale)
      : channels_(image.size(1)),
        pixels_(image.numel() / image.size(0) / channels_),
        channel_tiles_((channels_ + kChannels - 1) / kChannels),
        pixel_tiles_((pixels_ + kPixels - 1) / kPixels),
        tiles_(image.size(0) * channel_tiles_ * pixel_tiles_),
        stream_(stream),
        least_(least),
        factor_(static_cast<A>(scale)) {}

  // Of elements [N, ..., C].
  void Run(const T* x, T* y, uint8_t* mask) const {
    parallel_for(0, tiles_, 4, [&](int64_t begin, int64_t end) {
      const PhiloxVectors vectors(stream_);
      alignas(64) uint32_t words[kChannels * kPhiloxStep];
      alignas(64) uint8_t kept[kChannels * kPixels];
      for (int64_t k = begin; k < end; ++k) {
        const int64_t c = k % channel_tiles_ * kChannels;
        const int64_t p = k / channel_tiles_ % pixel_tiles_ * kPixels;
        const int64_t image = k / channel_tiles_ / pixel_tiles_;
        const int64_t channels = std::min(kChannels, channels_ - c);
        const int64_t pixels = std::min(kPixels, pixels_ - p);
        Decide(vectors, (image * channels_ + c) * pixels_ + p, channels, pixels,
               words, kept);
        const int64_t first = (image * pixels_ + p) * channels_ + c;
        for (int64_t i = 0; i < pixels; ++i) {
          const int64_t at = first + i * channels_;
          Apply(x + at, kept + i * kChannels, channels, y + at);
          std::memcpy(mask + at, kept + i * kChannels, channels);
        }
      }
    });
  }

 private:
  using A = typename Accumulate<T>::type;
  static constexpr int64_t kChannels = 32;
  // A run of them, which may begin within a block of four words, is one step.
  static constexpr int64_t kPixels = kPhiloxStep - 4;

  // kept[i * kChannels + c] of pixel i of channel c, where word `first` is that
  // of the first pixel of the first channel.
  void Decide(const PhiloxVectors& vectors, int64_t first, int64_t channels,
              int64_t pixels, uint32_t* words, uint8_t* kept) const {
    // All pixels of a few: channels follow each other without a gap.
    const bool whole = pixels == pixels_;
    if (whole) {
      const int64_t n = first % 4 + channels * pixels;
      vectors.Words(first / 4,
                    (n + kPhiloxStep - 1) / kPhiloxStep * kPhiloxStep, words);
    }
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t word = first + c * pixels_;
      if (!whole) vectors.Words(word / 4, kPhiloxStep, words);
      const uint32_t* const run =
          whole ? words + first % 4 + c * pixels : words + word % 4;
      for (int64_t i = 0; i < pixels; ++i)
        kept[i * kChannels + c] = run[i] >= least_;
    }
  }

  void Apply(const T* __restrict x, const uint8_t* __restrict kept, int64_t n,
             T* __restrict y) const {
    for (int64_t i = 0; i < n; ++i) {
      const A v = static_cast<A>(x[i]) * factor_;
      const int32_t keep = kept[i];
      y[i] = T(keep != 0 ? v : A(0));
    }
  }

  int64_t channels_, pixels_, channel_tiles_, pixel_tiles_, tiles_;
  PhiloxStream stream_;
  uint32_t least_;
  A factor_;
};

}  // namespace

void Dropout(const KernelContext& ctx, const Tensor& x, double p, bool training,
             std::string_view mode, Tensor* out, Tensor* mask) {
  const int64_t n = x.numel();
  const double scale = Scale(p, training, mode);
  const Tensor in = InOrder(x, OrderOf(*out));
  bool* const keep = mask->data<bool>();
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.data<T>();
    T* to = out->data<T>();
    if (!training) {
      if (n > 0) std::memset(keep, 1, n);
      Apply<T>(from, nullptr, scale, n, to);
      return;
    }
    const PhiloxStream stream = ctx.generator().Reserve(n);
    const uint64_t least = LeastKept(p);
    if (OrderOf(*out) == MemoryOrder::kChannelsLast && least >> 32 == 0) {
      return ImageDropout<T>(x, stream, static_cast<uint32_t>(least), scale)
          .Run(from, to, mask->data<uint8_t>());
    }
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
  const MemoryOrder order = OrderOf(*x_grad);
  const Tensor g = InOrder(grad_out, order), kept = InOrder(mask, order);
  VisitFloat(g.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(0, g.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      Apply(g.data<T>() + begin, kept.data<uint8_t>() + begin, scale,
            end - begin, x_grad->data<T>() + begin);
    });
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
