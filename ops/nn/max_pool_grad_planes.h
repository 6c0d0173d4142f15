// The gradient of max pooling of images of one channel, by input rows. Compiled
// once for each instruction set.
#ifndef PROA_OPS_NN_MAX_POOL_GRAD_PLANES_H_
#define PROA_OPS_NN_MAX_POOL_GRAD_PLANES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "ops/nn/float_copy.h"
#include "ops/nn/max_pool_keys.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_geometry.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {

// Copies a row of an image, which is often shorter than a call of memcpy is
// long. The last piece may take some bytes again.
template <int64_t kPiece>
inline void CopyPieces(const char* from, int64_t bytes, char* to) {
  for (int64_t i = 0; i + kPiece < bytes; i += kPiece)
    std::memcpy(to + i, from + i, kPiece);
  std::memcpy(to + bytes - kPiece, from + bytes - kPiece, kPiece);
}
template <typename T>
inline void CopyRow(const T* from_data, int64_t n, T* to_data) {
  const char* const from = reinterpret_cast<const char*>(from_data);
  char* const to = reinterpret_cast<char*>(to_data);
  const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
  if (bytes >= 64) return CopyPieces<64>(from, bytes, to);
  if (bytes >= 16) return CopyPieces<16>(from, bytes, to);
  for (int64_t i = 0; i < n; ++i) to_data[i] = from_data[i];
}

// Windows are lanes. A row is laid out by phases: with `stride` s, column q of
// the image, after its padding, is element (q + padding) / s of phase (q +
// padding) % s, so that what tap t of all windows sees lies side by side, in
// phase t % s from element t / s on. Of narrow images some are laid out behind
// each other. Each output row keeps which tap is its maximum; an input row
// gathers from the windows that see it, in the order of the windows.
template <typename T>
class MaxPoolPlanesGradient {
 public:
  MaxPoolPlanesGradient(const PoolGeometry& g, int64_t images, bool stream)
      : g_(g),
        stride_(g.window.stride[2]),
        pad_(g.window.pad_before[2]),
        height_(g.window.kernel[1]),
        width_(g.window.kernel[2]),
        reach_((width_ - 1) / stride_),
        room_(std::max(g.out[2] + reach_,
                       (pad_ + g.in[2] + stride_ - 1) / stride_)),
        together_(std::min(images, std::max<int64_t>(1, kTogether / room_))),
        row_(reach_ + together_ * room_ + reach_ + 2 * kLanes),
        keys_kept_(std::min(height_, g.in[1])),
        rows_kept_(std::min(
            (height_ + g.window.stride[1] - 1) / g.window.stride[1], g.out[1])),
        rows_streamed_(stream ? (kStreamed + g.in[2] - 1) / g.in[2] : 0),
        keys_(keys_kept_ * stride_ * row_, kNone),
        at_(rows_kept_ * row_),
        grads_(rows_kept_ * row_),
        sums_(stride_ * row_),
        wide_(stride_ * row_, T(0)),
        narrow_(row_, T(0)),
        streamed_(together_ * rows_streamed_ * g.in[2]),
        taps_(height_ * width_),
        hits_(height_ * width_) {}

  // Input rows [begin, end) of each of `images` images.
  void Run(const T* grad_out, const T* x, int64_t images, int64_t begin,
           int64_t end, T* x_grad) {
    for (int64_t i = 0; i < images; i += together_) {
      images_ = std::min(together_, images - i);
      // Whole vectors: rows have room for them.
      used_ = (images_ * room_ + kLanes - 1) / kLanes * kLanes;
      x_ = x + i * g_.in_pixels();
      x_grad_ = x_grad + i * g_.in_pixels();
      grad_out_ = grad_out + i * g_.out_pixels();
      RunTogether(begin, end);
    }
    if (rows_streamed_ > 0) StreamFence();
  }

 private:
  using A = typename Accumulate<T>::type;
  using K = typename Key<A>::type;
  using VA = VectorOf<A>;
  using VK = VectorOf<K>;
  static constexpr int64_t kLanes = VA::kLanes;
  // Windows side by side, if images are narrow.
  static constexpr int64_t kTogether = 256;
  // Elements of an image that are stored past the caches together, at least:
  // cache lines at both ends of them are not.
  static constexpr int64_t kStreamed = 256;
  static constexpr K kNone = std::numeric_limits<K>::min();  // below all keys

  // Where windows see an element of a phase with tap `tap`.
  struct Hit {
    const K* at;
    const A* grads;
    K tap;
  };

  int64_t TopOf(int64_t i) const {
    return i * g_.window.stride[1] - g_.window.pad_before[1];
  }

  void RunTogether(int64_t begin, int64_t end) {
    int64_t first = 0, found = 0;  // output rows
    next_key_ = 0;
    for (int64_t r = begin; r < end; ++r) {
      while (first < g_.out[1] && TopOf(first) + height_ <= r) ++first;
      int64_t last = first;
      for (; last < g_.out[1] && TopOf(last) <= r; ++last) {
        if (last < found) continue;
        found = last + 1;
        Find(last);
      }
      for (int64_t f = 0; f < stride_; ++f) GatherPhase(r, f, first, last);
      WriteRow(r);
      if (rows_streamed_ > 0 && (++waiting_ == rows_streamed_ || r + 1 == end))
        StreamRows(r + 1 - waiting_);
    }
  }

  K* KeyRow(int64_t r, int64_t phase) {
    return keys_.data() + (r % keys_kept_ * stride_ + phase) * row_;
  }

  // The taps of the maxima of output row i, -1 where there are none.
  void Find(int64_t i) {
    int64_t top, bottom;
    g_.Range(1, i, &top, &bottom);
    for (int64_t r = std::max(top, next_key_); r < bottom; ++r) {
      ReadKeys(r);
      next_key_ = r + 1;
    }
    ReadGrads(i);
    K first = static_cast<K>((top - TopOf(i)) * width_);
    int count = 0;
    for (int64_t r = top; r < bottom; ++r) {
      for (int64_t t = 0; t < width_; ++t)
        taps_[count++] = KeyRow(r, t % stride_) + t / stride_;
    }
    K* const at = at_.data() + i % rows_kept_ * row_ + reach_;
    switch (count) {
      case 4:
        return FindMaxima<4>(4, first, at);
      case 9:
        return FindMaxima<9>(9, first, at);
      default:
        return FindMaxima<0>(count, first, at);
    }
  }

  // Of taps_, of which there are kCount, or `count`; the first is tap `tap`.
  template <int kCount>
  void FindMaxima(int count, K tap, K* at) const {
    if (kCount > 0) count = kCount;
    const K* const* const taps = taps_.data();
    for (int64_t j = 0; j < used_; j += kLanes) {
      auto best = typename VK::Type{} + kNone;
      auto where = typename VK::Type{} - 1;
      auto here = typename VK::Type{} + tap;
#pragma GCC unroll 9
      for (int k = 0; k < count; ++k, here += 1) {
        const auto key = VK::Load(taps[k] + j);
        const auto take = key > best;
        best = take ? key : best;
        where = take ? here : where;
      }
      VK::Store(at + j, where);
    }
  }

  // The row behind this one: images that lie apart are more than hardware
  // follows.
  void AskForNext(const T* row) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    for (int64_t q = 0; q < g_.in[2]; q += kLine)
      __builtin_prefetch(row + g_.in[2] + q);
  }

  // Input row r of all images, in phases. What is no column stays kNone.
  void ReadKeys(int64_t r) {
    const int64_t columns = g_.in[2], step = room_ * stride_;
    T* const wide = wide_.data();
    for (int64_t i = 0; i < images_; ++i) {
      const T* const row = x_ + i * g_.in_pixels() + r * columns;
      AskForNext(row);
      CopyRow(row, columns, wide + i * step + pad_);
    }
    K* const to = KeyRow(r, 0);
    const T* const __restrict from = wide;
    if (stride_ == 1) {
      for (int64_t j = 0; j < used_; ++j)
        to[j] = KeyOf(static_cast<A>(from[j]));
    } else if (stride_ == 2) {
      K* const __restrict even = to, * const __restrict odd = to + row_;
      for (int64_t j = 0; j < used_; ++j) {
        even[j] = KeyOf(static_cast<A>(from[2 * j]));
        odd[j] = KeyOf(static_cast<A>(from[2 * j + 1]));
      }
    } else {
      for (int64_t f = 0; f < stride_; ++f) {
        K* const __restrict phase = to + f * row_;
        for (int64_t j = 0; j < used_; ++j)
          phase[j] = KeyOf(static_cast<A>(from[j * stride_ + f]));
      }
    }
    const auto none = [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; begin < end && i < images_; ++i) {
        for (int64_t q = begin; q < end; ++q)
          to[q % stride_ * row_ + i * room_ + q / stride_] = kNone;
      }
    };
    none(0, pad_);
    none(pad_ + columns, step);
  }

  // Those of output row i of all images. Elements between images are windows of
  // no image: their gradients stay 0.
  void ReadGrads(int64_t i) {
    const int64_t columns = g_.out[2];
    T* const narrow = narrow_.data();
    for (int64_t k = 0; k < images_; ++k) {
      CopyRow(grad_out_ + k * g_.out_pixels() + i * columns, columns,
              narrow + k * room_);
    }
    const T* const __restrict from = narrow;
    A* const __restrict to = grads_.data() + i % rows_kept_ * row_ + reach_;
    for (int64_t j = 0; j < used_; ++j) to[j] = static_cast<A>(from[j]);
  }

  // Phase f of input row r, which output rows [first, last) see.
  void GatherPhase(int64_t r, int64_t f, int64_t first, int64_t last) {
    int count = 0;
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = i % rows_kept_ * row_ + reach_;
      for (int64_t q = (width_ - 1 - f) / stride_; f < width_ && q >= 0; --q) {
        hits_[count++] = {
            at_.data() + row - q, grads_.data() + row - q,
            static_cast<K>((r - TopOf(i)) * width_ + q * stride_ + f)};
      }
    }
    A* const to = sums_.data() + f * row_;
    switch (count) {
      case 1:
        return Gather<1>(1, to);
      case 2:
        return Gather<2>(2, to);
      case 4:
        return Gather<4>(4, to);
      default:
        return Gather<0>(count, to);
    }
  }

  // The sums of hits_, of which there are kCount, or `count`.
  template <int kCount>
  void Gather(int count, A* to) const {
    if (kCount > 0) count = kCount;
    const Hit* const hits = hits_.data();
    for (int64_t j = 0; j < used_; j += kLanes) {
      typename VA::Type sum = {};
#pragma GCC unroll 4
      for (int k = 0; k < count; ++k) {
        const auto hit =
            VK::Load(hits[k].at + j) == typename VK::Type{} + hits[k].tap;
        sum += hit ? VA::Load(hits[k].grads + j) : typename VA::Type{};
      }
      VA::Store(to + j, sum);
    }
  }

  // Input row r of all images, of its phases.
  void WriteRow(int64_t r) {
    const int64_t columns = g_.in[2], step = room_ * stride_;
    T* const __restrict wide = wide_.data();
    const A* const sums = sums_.data();
    if (stride_ == 1) {
      for (int64_t j = 0; j < used_; ++j) wide[j] = T(sums[j]);
    } else if (stride_ == 2) {
      const A* const __restrict even = sums, * const __restrict odd =
                                                 sums + row_;
      for (int64_t j = 0; j < used_; ++j) {
        wide[2 * j] = T(even[j]);
        wide[2 * j + 1] = T(odd[j]);
      }
    } else {
      for (int64_t f = 0; f < stride_; ++f) {
        const A* const __restrict phase = sums + f * row_;
        for (int64_t j = 0; j < used_; ++j) wide[j * stride_ + f] = T(phase[j]);
      }
    }
    T* const to = rows_streamed_ > 0 ? streamed_.data() + waiting_ * columns
                                     : x_grad_ + r * columns;
    const int64_t image =
        rows_streamed_ > 0 ? rows_streamed_ * columns : g_.in_pixels();
    for (int64_t i = 0; i < images_; ++i) {
      AskForNext(to + i * image);
      CopyRow(wide + i * step + pad_, columns, to + i * image);
    }
  }

  // The rows of all images that wait for it, from input row r on.
  void StreamRows(int64_t r) {
    const int64_t columns = g_.in[2];
    for (int64_t i = 0; i < images_; ++i) {
      StreamCopy(x_grad_ + i * g_.in_pixels() + r * columns,
                 streamed_.data() + i * rows_streamed_ * columns,
                 waiting_ * columns * static_cast<int64_t>(sizeof(T)));
    }
    waiting_ = 0;
  }

  const PoolGeometry& g_;
  const int64_t stride_, pad_, height_, width_;
  // What windows see behind their first elements, and elements of a phase that
  // an image takes.
  const int64_t reach_, room_;
  const int64_t together_, row_;  // images, and elements that they take
  const int64_t keys_kept_, rows_kept_;
  const int64_t rows_streamed_;    // of an image, or 0
  int64_t waiting_ = 0;            // rows that are not yet stored
  int64_t images_ = 0, used_ = 0;  // of those at hand
  const T *x_ = nullptr, *grad_out_ = nullptr;
  T* x_grad_ = nullptr;
  int64_t next_key_ = 0;
  std::vector<K> keys_, at_;  // input row r at r % keys_kept_, and so on
  std::vector<A> grads_, sums_;
  std::vector<T> wide_, narrow_;  // rows as they are in memory
  std::vector<T> streamed_;
  std::vector<const K*> taps_;
  std::vector<Hit> hits_;
};

template <typename T>
void MaxPoolGradPlanes(const PoolGeometry& g, const PoolRows& rows,
                       const void* grad_out, const void* x, void* x_grad) {
  MaxPoolPlanesGradient<T>(g, rows.images, rows.stream)
      .Run(static_cast<const T*>(grad_out) + rows.out_start,
           static_cast<const T*>(x) + rows.in_start, rows.images, rows.first,
           rows.last, static_cast<T*>(x_grad) + rows.in_start);
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_NN_MAX_POOL_GRAD_PLANES_H_
