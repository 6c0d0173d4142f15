// The gradient of max pooling by windows of 2 x 2 elements that neither overlap
// nor reach beyond the image, of images of one channel. Compiled once for each
// instruction set.
#ifndef PROA_OPS_NN_MAX_POOL_GRAD_PAIRS_H_
#define PROA_OPS_NN_MAX_POOL_GRAD_PAIRS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "ops/nn/max_pool_keys.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_geometry.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {

// Elements are lanes, which look at their neighbour and at the other row of
// their window. Rows are read and written where they lie, from the first on, by
// whole vectors of kBytes: what is written too much is written again with the
// next row. Of the last rows, behind which there may be no memory or that of
// another thread, copies are taken. T is float or double.
template <typename T, int kBytes>
class MaxPoolPairsGradient {
 public:
  explicit MaxPoolPairsGradient(const PoolGeometry& g)
      : height_(g.in[1]),
        width_(g.in[2]),
        out_width_(g.out[2]),
        out_height_(g.out[1]),
        room_(width_ + kLanes),
        rows_(5 * room_) {}

  // Input rows [begin, end) of each of `images` images.
  void Run(const T* grad_out, const T* x, int64_t images, int64_t begin,
           int64_t end, bool stream, T* x_grad) {
    if (height_ % 2 == 0 && begin == 0 && end == height_) {
      // Their pairs of rows follow each other as those of one image do.
      end *= images;
      out_height_ *= images;
      images = 1;
    }
    const int64_t out_size = out_height_ * out_width_;
    for (int64_t i = 0; i < images; ++i) {
      T* const to = x_grad + begin * width_;
      const bool last = (images - 1 - i) * out_size < kLanes;
      if (stream) {
        StreamRows(grad_out, x, begin, end, to);
      } else {
        RunRows(grad_out, x, begin, end, last, to);
      }
      grad_out += out_height_ * out_width_;
      x += height_ * width_;
      x_grad += height_ * width_;
    }
    if (stream) StreamFence();
  }

 private:
  using K = typename Key<T>::type;
  static constexpr int64_t kLanes = kBytes / sizeof(T);
  using Lanes = std::make_integer_sequence<int, static_cast<int>(kLanes)>;
  typedef T Values __attribute__((vector_size(kBytes)));
  typedef K Keys __attribute__((vector_size(kBytes)));

  static Values Load(const T* from) {
    Values v;
    std::memcpy(&v, from, sizeof(v));
    return v;
  }
  static void Store(T* to, const Values& v) { std::memcpy(to, &v, sizeof(v)); }

  template <int... l>
  static Keys Neighbours(Keys v, std::integer_sequence<int, l...>) {
    return __builtin_shufflevector(v, v, (l ^ 1)...);
  }
  template <int... l>
  static Values Twice(Values v, std::integer_sequence<int, l...>) {
    return __builtin_shufflevector(v, v, (l / 2)...);
  }
  // 1 in lanes of the first column of a window.
  template <int... l>
  static Keys FirstColumns(std::integer_sequence<int, l...>) {
    return Keys{(1 - l % 2)...};
  }

  static Keys KeysOf(Values v) {
    const Keys bits = std::bit_cast<Keys>(v);
    const Keys most = Keys{} + std::numeric_limits<K>::max();
    const Keys key = bits ^ ((bits >> (8 * sizeof(K) - 1)) & most);
    return v != v ? most : key;
  }

  // Rows [begin, end) of an image, to `to`. Behind them there is memory to read
  // and to write, unless they are the last.
  void RunRows(const T* grad_out, const T* x, int64_t begin, int64_t end,
               bool last, T* to) {
    int64_t r = begin;
    const auto one_row = [&] {
      if (r / 2 >= out_height_) {
        std::fill_n(to, width_, T(0));  // no window sees it
      } else {
        OneRow(r, x + r * width_, grad_out + r / 2 * out_width_, to);
      }
      to += width_;
      ++r;
    };
    if (r % 2 == 1 && r < end) one_row();
    // Pairs whose vectors do not reach beyond the end.
    const int64_t pairs =
        std::min(end / 2, out_height_) - (last ? kLanes / out_width_ + 1 : 0);
    const T* from = x + r * width_;
    const T* grads = grad_out + r / 2 * out_width_;
    for (; r < 2 * pairs; r += 2) {
      Pair(from, from + width_, grads, to, to + width_);
      from += 2 * width_;
      to += 2 * width_;
      grads += out_width_;
    }
    while (r < end) one_row();
  }

  // The same, past the caches.
  void StreamRows(const T* grad_out, const T* x, int64_t begin, int64_t end,
                  T* to) {
    constexpr int64_t kTogether = 4096;  // elements
    const int64_t rows = 2 * (kTogether / (2 * width_) + 1);
    streamed_.resize(rows * width_);
    for (int64_t r = begin; r < end;) {
      const int64_t next = std::min(end, (r / 2 * 2) + rows);
      RunRows(grad_out, x, r, next, true, streamed_.data());
      StreamCopy(to, streamed_.data(),
                 (next - r) * width_ * static_cast<int64_t>(sizeof(T)));
      to += (next - r) * width_;
      r = next;
    }
  }

  // The two rows of a line of windows.
  void Pair(const T* a, const T* b, const T* grads, T* to_a, T* to_b) const {
    const Keys first = FirstColumns(Lanes{});
    const Values none = {};
    // From behind, so that what is written beyond the first row comes before
    // the second one.
    for (int64_t q = (2 * out_width_ - 1) / kLanes * kLanes; q >= 0;
         q -= kLanes) {
      const Keys u = KeysOf(Load(a + q)), v = KeysOf(Load(b + q));
      const Keys beside_u = Neighbours(u, Lanes{}),
                 beside_v = Neighbours(v, Lanes{});
      const Keys top = u > beside_u ? u : beside_u;
      const Keys bottom = v > beside_v ? v : beside_v;
      const Values grad = Twice(Load(grads + q / 2), Lanes{});
      // Of equal ones the first row and the first column count.
      const auto is_top = top >= bottom;
      const Values of_top = is_top ? grad : none;
      const Values of_bottom = is_top ? none : grad;
      Store(to_a + q, u > beside_u - first ? of_top : none);
      Store(to_b + q, v > beside_v - first ? of_bottom : none);
    }
    if (width_ % 2 == 1) to_a[width_ - 1] = to_b[width_ - 1] = T(0);
  }

  // Row r, of copies.
  void OneRow(int64_t r, const T* from, const T* grads, T* to) {
    T* const copies = rows_.data();
    std::copy_n(from - r % 2 * width_, width_, copies);
    std::copy_n(from + (1 - r % 2) * width_, width_, copies + room_);
    std::copy_n(grads, out_width_, copies + 2 * room_);
    Pair(copies, copies + room_, copies + 2 * room_, copies + 3 * room_,
         copies + 4 * room_);
    std::copy_n(copies + (3 + r % 2) * room_, width_, to);
  }

  const int64_t height_, width_, out_width_;
  int64_t out_height_;
  const int64_t room_;   // of a copy
  std::vector<T> rows_;  // copies of two rows, of gradients and of results
  std::vector<T> streamed_;
};

// Whether MaxPoolGradPairs is for these windows.
inline bool IsOfPairs(const PoolGeometry& g) {
  const auto is = [&](int d) {
    return g.window.kernel[d] == 2 && g.window.stride[d] == 2 &&
           g.window.pad_before[d] == 0 && 2 * g.out[d] <= g.in[d];
  };
  return is(1) && is(2);
}

template <typename T>
void MaxPoolGradPairs(const PoolGeometry& g, const PoolRows& rows,
                      const T* grad_out, const T* x, T* x_grad) {
  const auto run = [&](auto gradient) {
    gradient.Run(grad_out + rows.out_start, x + rows.in_start, rows.images,
                 rows.first, rows.last, rows.stream, x_grad + rows.in_start);
  };
  // Vectors that are no longer than rows, if there are such.
  const int64_t bytes = 2 * g.out[2] * static_cast<int64_t>(sizeof(T));
  if (bytes <= 16 || kVectorBytes == 16) {
    run(MaxPoolPairsGradient<T, 16>(g));
  } else if (bytes <= 32 || kVectorBytes == 32) {
    run(MaxPoolPairsGradient < T, kVectorBytes < 32 ? 16 : 32 > (g));
  } else {
    run(MaxPoolPairsGradient<T, kVectorBytes>(g));
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_NN_MAX_POOL_GRAD_PAIRS_H_
