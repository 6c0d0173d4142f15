// The gradient of max pooling by windows of 2 x 2 elements that neither overlap
// nor reach beyond the image, of images with their channels last. Compiled once
// for each instruction set.
#ifndef PROA_OPS_NN_MAX_POOL_GRAD_PIXELS_H_
#define PROA_OPS_NN_MAX_POOL_GRAD_PIXELS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "ops/nn/max_pool_keys.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_geometry.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {

// Channels are lanes: the four pixels of a window are read and written once,
// where they lie. A pixel has as many channels as a vector of kBytes, at least;
// the last vector takes some of them again. T is float or double.
template <typename T, int kBytes>
class MaxPoolPixelsGradient {
 public:
  MaxPoolPixelsGradient(const PoolGeometry& g, const PoolRows& rows)
      : channels_(rows.channels),
        row_(g.in[2] * channels_),
        out_row_(g.out[2] * channels_),
        windows_(g.out[2]),
        lines_(g.out[1]),
        streamed_(rows.stream ? 2 * row_ : 0) {}

  // Input rows [begin, end) of an image.
  void Run(const T* grad_out, const T* x, int64_t begin, int64_t end,
           T* x_grad) {
    for (int64_t r = begin; r < end;) {
      const int64_t line = r / 2, next = std::min(end, 2 * line + 2);
      T* const rows = x_grad + r * row_;
      T* const to = streamed_.empty() ? rows : streamed_.data();
      if (line >= lines_) {
        std::fill_n(to, (next - r) * row_, T(0));  // no window sees them
      } else {
        const T* const from = x + 2 * line * row_;
        const T* const grads = grad_out + line * out_row_;
        if (next - r == 2) {
          Line<true, true>(from, grads, to, to + row_);
        } else if (r % 2 == 0) {
          Line<true, false>(from, grads, to, nullptr);
        } else {
          Line<false, true>(from, grads, nullptr, to);
        }
      }
      if (!streamed_.empty()) {
        StreamCopy(rows, to,
                   (next - r) * row_ * static_cast<int64_t>(sizeof(T)));
      }
      r = next;
    }
    if (!streamed_.empty()) StreamFence();
  }

 private:
  using K = typename Key<T>::type;
  static constexpr int64_t kLanes = kBytes / sizeof(T);
  typedef T Values __attribute__((vector_size(kBytes)));
  typedef K Keys __attribute__((vector_size(kBytes)));

  static Values Load(const T* from) {
    Values v;
    std::memcpy(&v, from, sizeof(v));
    return v;
  }
  static void Store(T* to, const Values& v) { std::memcpy(to, &v, sizeof(v)); }

  static Keys KeysOf(const T* from) {
    const Values v = Load(from);
    const Keys bits = std::bit_cast<Keys>(v);
    const Keys most = Keys{} + std::numeric_limits<K>::max();
    const Keys key = bits ^ ((bits >> (8 * sizeof(K) - 1)) & most);
    return v != v ? most : key;
  }

  // The windows of two input rows, of which one result may not be wanted.
  template <bool kTop, bool kBottom>
  void Line(const T* from, const T* grads, T* top, T* bottom) const {
    for (int64_t j = 0; j < windows_; ++j) {
      const int64_t pixel = 2 * j * channels_;
      for (int64_t begin = 0; begin < channels_; begin += kLanes) {
        const int64_t c = std::min(begin, channels_ - kLanes);
        Window<kTop, kBottom>(from + pixel + c, grads + j * channels_ + c,
                              top + (kTop ? pixel + c : 0),
                              bottom + (kBottom ? pixel + c : 0));
      }
    }
    const int64_t seen = 2 * windows_ * channels_;
    if (kTop) std::fill_n(top + seen, row_ - seen, T(0));
    if (kBottom) std::fill_n(bottom + seen, row_ - seen, T(0));
  }

  // Of equal ones the first row and the first column count.
  template <bool kTop, bool kBottom>
  void Window(const T* from, const T* grads, T* top, T* bottom) const {
    const Values none = {};
    const Keys a = KeysOf(from), b = KeysOf(from + channels_);
    const Keys c = KeysOf(from + row_), d = KeysOf(from + row_ + channels_);
    // A sum of one, as that of windows that overlap: of -0 it is 0.
    const Values grad = none + Load(grads);
    const auto left_top = a >= b, left_bottom = c >= d;
    const auto is_top = (left_top ? a : b) >= (left_bottom ? c : d);
    if (kTop) {
      const Values of_top = is_top ? grad : none;
      Store(top, left_top ? of_top : none);
      Store(top + channels_, left_top ? none : of_top);
    }
    if (kBottom) {
      const Values of_bottom = is_top ? none : grad;
      Store(bottom, left_bottom ? of_bottom : none);
      Store(bottom + channels_, left_bottom ? none : of_bottom);
    }
  }

  const int64_t channels_, row_, out_row_;  // elements
  const int64_t windows_, lines_;           // of a line, and lines of them
  std::vector<T> streamed_;
};

// Whether a pixel of `channels` fills the shortest vector.
template <typename T>
bool FillsVector(int64_t channels) {
  return channels * static_cast<int64_t>(sizeof(T)) >= 16;
}

// Of windows that are IsOfPairs, and pixels for which FillsVector.
template <typename T>
void MaxPoolGradPixels(const PoolGeometry& g, const PoolRows& rows,
                       const T* grad_out, const T* x, T* x_grad) {
  const auto run = [&](auto gradient) {
    gradient.Run(grad_out + rows.out_start, x + rows.in_start, rows.first,
                 rows.last, x_grad + rows.in_start);
  };
  const int64_t bytes = rows.channels * static_cast<int64_t>(sizeof(T));
  if (bytes < 32 || kVectorBytes == 16) {
    run(MaxPoolPixelsGradient<T, 16>(g, rows));
  } else if (bytes < 64 || kVectorBytes == 32) {
    run(MaxPoolPixelsGradient < T, kVectorBytes < 32 ? 16 : 32 > (g, rows));
  } else {
    run(MaxPoolPixelsGradient<T, kVectorBytes>(g, rows));
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_NN_MAX_POOL_GRAD_PIXELS_H_
