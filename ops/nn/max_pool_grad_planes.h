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
#if defined(__AVX512BW__)
  const __mmask64 mask = (uint64_t{1} << bytes) - 1;
  _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
#else
  if (bytes >= 16) return CopyPieces<16>(from, bytes, to);
  for (int64_t i = 0; i < n; ++i) to_data[i] = from_data[i];
#endif
}

// Windows are lanes. A row is laid out by phases: with `stride` s, column q of
// the image, after its padding, is element (q + padding) / s of phase (q +
// padding) % s, so that what tap t of all windows sees lies side by side, in
// phase t % s from element t / s on. Of narrow images some are laid out behind
// each other. Pooling is that of rows and then of columns: each input row keeps
// the maximum and its tap for each window of it, each output row which of these
// rows has its maximum. Gradients go the same way back, so that an input row
// gathers from the output rows that see it, and an element from the windows of
// its row: as many steps as windows have rows and columns, not elements.
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
        keys_(stride_ * row_, kNone),
        best_(keys_kept_ * row_),
        taps_(keys_kept_ * row_),
        unused_(row_),
        at_(rows_kept_ * row_),
        grads_(rows_kept_ * row_),
        of_row_(row_, A(0)),
        sums_(stride_ * row_),
        wide_(stride_ * row_, T(0)),
        narrow_(row_, T(0)),
        streamed_(together_ * rows_streamed_ * g.in[2]),
        seen_(std::max(height_, width_)),
        hits_(std::max({rows_kept_, width_, int64_t{1}})) {}

  // Input rows [begin, end) of each of `images` images.
  void Run(const T* grad_out, const T* x, int64_t images, int64_t begin,
           int64_t end, T* x_grad) {
    for (int64_t i = 0; i < images; i += together_) {
      images_ = std::min(together_, images - i);
      // Whole pairs of vectors: rows have room for them.
      used_ = (images_ * room_ + kTwo - 1) / kTwo * kTwo;
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
  static constexpr int64_t kLanes = VA::kLanes, kTwo = 2 * kLanes;
  // Windows side by side, if images are narrow.
  static constexpr int64_t kTogether = 256;
  // Elements of an image that are stored past the caches together, at least:
  // cache lines at both ends of them are not.
  static constexpr int64_t kStreamed = 256;
  static constexpr K kNone = std::numeric_limits<K>::min();  // below all keys

  // Where the maximum is, if it is the one with tap `tap`, and its gradient.
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
      GatherRow(r, first, last);
      for (int64_t f = 0; f < stride_; ++f) GatherPhase(r, f);
      WriteRow(r);
      if (rows_streamed_ > 0 && (++waiting_ == rows_streamed_ || r + 1 == end))
        StreamRows(r + 1 - waiting_);
    }
  }

  // What is kept of input row r, or of output row i, from its first window on.
  // Before it there are windows of no image.
  int64_t KeptOfInput(int64_t r) const {
    return r % keys_kept_ * row_ + reach_;
  }
  int64_t KeptOfOutput(int64_t i) const {
    return i % rows_kept_ * row_ + reach_;
  }

  // The rows in which the maxima of output row i are, -1 where there are none.
  void Find(int64_t i) {
    int64_t top, bottom;
    g_.Range(1, i, &top, &bottom);
    for (int64_t r = std::max(top, next_key_); r < bottom; ++r) {
      ReadKeys(r);
      for (int64_t t = 0; t < width_; ++t)
        seen_[t] = keys_.data() + t % stride_ * row_ + t / stride_;
      const int64_t kept = KeptOfInput(r);
      FindMaxima(static_cast<int>(width_), 0, best_.data() + kept,
                 taps_.data() + kept);
      next_key_ = r + 1;
    }
    ReadGrads(i);
    int count = 0;
    for (int64_t r = top; r < bottom; ++r)
      seen_[count++] = best_.data() + KeptOfInput(r);
    FindMaxima(count, static_cast<K>(top - TopOf(i)), unused_.data(),
               at_.data() + KeptOfOutput(i));
  }

  // The largest of seen_[0, count) and the first that has it, which counts from
  // `first` on.
  void FindMaxima(int count, K first, K* best, K* at) const {
    switch (count) {
      case 2:
        return FindMaxima<2>(2, first, best, at);
      case 3:
        return FindMaxima<3>(3, first, best, at);
      default:
        return FindMaxima<0>(count, first, best, at);
    }
  }
  template <int kCount>
  void FindMaxima(int count, K first, K* best_to, K* at) const {
    if (kCount > 0) count = kCount;
    const K* const* const seen = seen_.data();
    for (int64_t j = 0; j < used_; j += kTwo) {
      auto best = typename VK::Type{} + kNone, best2 = best;
      auto where = typename VK::Type{} - 1, where2 = where;
      auto here = typename VK::Type{} + first;
#pragma GCC unroll 3
      for (int k = 0; k < count; ++k, here += 1) {
        const auto key = VK::Load(seen[k] + j);
        const auto key2 = VK::Load(seen[k] + j + kLanes);
        where = key > best ? here : where;
        where2 = key2 > best2 ? here : where2;
        best = key > best ? key : best;
        best2 = key2 > best2 ? key2 : best2;
      }
      VK::Store(best_to + j, best);
      VK::Store(best_to + j + kLanes, best2);
      VK::Store(at + j, where);
      VK::Store(at + j + kLanes, where2);
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
    K* const to = keys_.data();
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
      for (int64_t q = begin; q < end; ++q) {
        K* const there = to + q % stride_ * row_ + q / stride_;
        for (int64_t i = 0; i < images_; ++i) there[i * room_] = kNone;
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
    A* const __restrict to = grads_.data() + KeptOfOutput(i);
    for (int64_t j = 0; j < used_; ++j) to[j] = static_cast<A>(from[j]);
  }

  // The gradients of the maxima of input row r, which output rows [first, last)
  // see.
  void GatherRow(int64_t r, int64_t first, int64_t last) {
    int count = 0;
    for (int64_t i = first; i < last; ++i) {
      const int64_t kept = KeptOfOutput(i);
      hits_[count++] = {at_.data() + kept, grads_.data() + kept,
                        static_cast<K>(r - TopOf(i))};
    }
    Gather(count, of_row_.data() + reach_);
  }

  // Phase f of input row r, of these.
  void GatherPhase(int64_t r, int64_t f) {
    const K* const taps = taps_.data() + KeptOfInput(r);
    const A* const grads = of_row_.data() + reach_;
    int count = 0;
    for (int64_t q = (width_ - 1 - f) / stride_; f < width_ && q >= 0; --q) {
      hits_[count++] = {taps - q, grads - q, static_cast<K>(q * stride_ + f)};
    }
    Gather(count, sums_.data() + f * row_);
  }

  // The sums of hits_[0, count).
  void Gather(int count, A* to) const {
    switch (count) {
      case 1:
        return Gather<1>(1, to);
      case 2:
        return Gather<2>(2, to);
      default:
        return Gather<0>(count, to);
    }
  }
  template <int kCount>
  void Gather(int count, A* to) const {
    if (kCount > 0) count = kCount;
    const Hit* const hits = hits_.data();
    for (int64_t j = 0; j < used_; j += kTwo) {
      typename VA::Type sum = {}, sum2 = {};
#pragma GCC unroll 3
      for (int k = 0; k < count; ++k) {
        const K* const at = hits[k].at + j;
        const A* const grads = hits[k].grads + j;
        const auto tap = typename VK::Type{} + hits[k].tap;
        sum += VK::Load(at) == tap ? VA::Load(grads) : typename VA::Type{};
        sum2 += VK::Load(at + kLanes) == tap ? VA::Load(grads + kLanes)
                                             : typename VA::Type{};
      }
      VA::Store(to + j, sum);
      VA::Store(to + j + kLanes, sum2);
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
  std::vector<K> keys_;  // of the row at hand, by phases
  // Input row r at r % keys_kept_, output row i at i % rows_kept_.
  std::vector<K> best_, taps_, unused_, at_;
  std::vector<A> grads_, of_row_, sums_;
  std::vector<T> wide_, narrow_;  // rows as they are in memory
  std::vector<T> streamed_;
  std::vector<const K*> seen_;
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
