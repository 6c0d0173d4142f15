// The gradient of max pooling by input rows. Compiled once for each instruction
// set.
#ifndef PROA_OPS_NN_MAX_POOL_GRAD_ROWS_H_
#define PROA_OPS_NN_MAX_POOL_GRAD_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/nn/float_copy.h"
#include "ops/nn/max_pool_keys.h"
#include "ops/nn/max_pool_loops.h"
#include "ops/nn/pool_geometry.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {

// Each input row is written once: it gathers from the windows that see it. Each
// tap looks whether it is the place of the maximum, since stores to places of
// their own, one for each channel, are no vectors.
//
// Large windows go in two steps (kInSteps), of rows and then of columns: each
// input row keeps the maximum and its column for each window of it, each output
// row which of these rows has its maximum; gradients go the same way back. So
// there are as many taps as windows have rows and columns, not elements.
//
// Channels are lanes. Of fewer channels than lanes, or what is left of them,
// whole vectors are read and written all the same, pixel by pixel from the
// left, so that each overwrites what its neighbour wrote too much; rows have
// room for the last one.
template <typename T, bool kInSteps>
class MaxPoolGradient {
 public:
  MaxPoolGradient(const PoolGeometry& g, const PoolRows& rows,
                  const T* grad_out, const T* x, T* x_grad)
      : g_(g),
        grad_out_(grad_out + rows.out_start),
        x_(x + rows.in_start),
        x_grad_(x_grad + rows.in_start),
        channels_(rows.channels),
        in_width_(g.in[2] * channels_),
        out_width_(g.out[2] * channels_),
        in_room_(in_width_ + kLanes),
        out_room_(out_width_ + kLanes),
        keys_kept_(std::min(g.window.kernel[1], g.in[1])),
        rows_kept_(std::min(
            (g.window.kernel[1] + g.window.stride[1] - 1) / g.window.stride[1],
            g.out[1])),
        whole_(std::is_same_v<T, A> && channels_ % kLanes == 0),
        stream_(rows.stream),
        keys_((kInSteps ? 1 : keys_kept_) * in_room_),
        best_(kInSteps ? keys_kept_ * out_room_ : 0),
        columns_(best_.size()),
        unused_(kInSteps ? out_room_ : 0),
        at_(rows_kept_ * out_room_),
        grads_(whole_ ? 0 : rows_kept_ * out_room_),
        of_row_(unused_.size()),
        sums_(in_room_),
        streamed_(stream_ && !std::is_same_v<T, A> ? in_room_ : 0),
        rows_(keys_kept_),
        seen_(std::max<int64_t>(rows_kept_, 1)) {}

  void Run(int64_t begin, int64_t end) {
    int64_t first = 0, found = 0;  // output rows
    for (int64_t r = begin; r < end; ++r) {
      while (first < g_.out[1] && TopOf(first) + g_.window.kernel[1] <= r)
        ++first;
      int64_t count = 0;
      for (int64_t i = first; i < g_.out[1] && TopOf(i) <= r; ++i) {
        if (i >= found) {
          found = i + 1;
          Find(i);
        }
        const int64_t kept = i % rows_kept_ * out_room_;
        seen_[count++] = {
            at_.data() + kept,
            whole_ ? Whole(grad_out_ + i * out_width_) : grads_.data() + kept};
      }
      Gather(r, count);
    }
    if (stream_) StreamFence();
  }

 private:
  using A = typename Accumulate<T>::type;
  using K = typename Key<A>::type;
  using VA = VectorOf<A>;
  using VK = VectorOf<K>;
  static constexpr int64_t kLanes = VA::kLanes;

  // An output row that sees an input row.
  struct Seen {
    const K* at;
    const A* grads;
  };

  int64_t TopOf(int64_t i) const {
    return i * g_.window.stride[1] - g_.window.pad_before[1];
  }
  static const A* Whole(const T* row) {
    return reinterpret_cast<const A*>(row);
  }

  // The places of the maxima of output row i, or their rows, -1 where there are
  // none.
  void Find(int64_t i) {
    int64_t top, bottom;
    g_.Range(1, i, &top, &bottom);
    for (int64_t r = std::max(top, next_key_); r < bottom; ++r) {
      const T* const __restrict from = x_ + r * in_width_;
      K* const __restrict to = KeyRow(r);
      for (int64_t k = 0; k < in_width_; ++k)
        to[k] = KeyOf(static_cast<A>(from[k]));
      if (kInSteps) FindInRow(r);
      next_key_ = r + 1;
    }
    if (!whole_) {
      const T* const __restrict from = grad_out_ + i * out_width_;
      A* const __restrict to = grads_.data() + i % rows_kept_ * out_room_;
      for (int64_t k = 0; k < out_width_; ++k) to[k] = static_cast<A>(from[k]);
    }
    K* const at = at_.data() + i % rows_kept_ * out_room_;
    if (kInSteps)
      FindRows(top, bottom, at);
    else
      FindPlaces(top, bottom, at);
  }

  // Of windows with the input rows [top, bottom).
  void FindPlaces(int64_t top, int64_t bottom, K* at) {
    const int64_t height = std::max<int64_t>(bottom - top, 0);
    for (int64_t r = 0; r < height; ++r) rows_[r] = KeyRow(top + r);
    for (int64_t j = 0; j < g_.out[2]; ++j, at += channels_) {
      int64_t left, right;
      g_.Range(2, j, &left, &right);
      const int64_t width = std::max<int64_t>(right - left, 0);
      const K place = static_cast<K>(top * g_.in[2] + left);
      if (height == 0 || width == 0) {
        std::fill_n(at, channels_, K(-1));
      } else if (height == 2 && width == 2) {
        FindWindow<2>(2, 2, left, place, at);
      } else if (height == 3 && width == 3) {
        FindWindow<3>(3, 3, left, place, at);
      } else {
        FindWindow<0>(height, width, left, place, at);
      }
    }
  }

  K* KeyRow(int64_t r) {
    return keys_.data() + (kInSteps ? 0 : r % keys_kept_ * in_room_);
  }
  int64_t KeptOfInput(int64_t r) const { return r % keys_kept_ * out_room_; }

  // The maxima of input row r in each window of it, and their columns, -1 where
  // there are none.
  void FindInRow(int64_t r) {
    const K* const keys = KeyRow(r);
    K* best = best_.data() + KeptOfInput(r);
    K* at = columns_.data() + KeptOfInput(r);
    for (int64_t j = 0; j < g_.out[2];
         ++j, best += channels_, at += channels_) {
      int64_t left, right;
      g_.Range(2, j, &left, &right);
      const K* const pixels = keys + left * channels_;
      FindMaxima(&pixels, channels_,
                 static_cast<int>(std::max<int64_t>(right - left, 0)),
                 static_cast<K>(left), channels_, best, at);
    }
  }

  // The rows in which the maxima of windows with rows [top, bottom) are.
  void FindRows(int64_t top, int64_t bottom, K* at) {
    int count = 0;
    for (int64_t r = top; r < bottom; ++r)
      rows_[count++] = best_.data() + KeptOfInput(r);
    FindMaxima(rows_.data(), 0, count, static_cast<K>(top), out_width_,
               unused_.data(), at);
  }

  // The largest of n elements from each of `count` starts on, and the first
  // that has it, which counts from `first` on. The starts are `from`, or if
  // `step` is not 0, *from and what lies so many elements apart behind it.
  static void FindMaxima(const K* const* from, int64_t step, int count, K first,
                         int64_t n, K* best, K* at) {
    switch (count) {
      case 2:
        return FindMaxima<2>(from, step, 2, first, n, best, at);
      case 3:
        return FindMaxima<3>(from, step, 3, first, n, best, at);
      default:
        return FindMaxima<0>(from, step, count, first, n, best, at);
    }
  }
  template <int kCount>
  static void FindMaxima(const K* const* from, int64_t step, int count, K first,
                         int64_t n, K* best_to, K* at) {
    if (kCount > 0) count = kCount;
    for (int64_t c = 0; c < n; c += kLanes) {
      // Below all keys.
      auto best = typename VK::Type{} + std::numeric_limits<K>::min();
      auto where = typename VK::Type{} - 1;
      auto here = typename VK::Type{} + first;
#pragma GCC unroll 3
      for (int k = 0; k < count; ++k, here += 1) {
        const auto key = VK::Load((step != 0 ? *from + k * step : from[k]) + c);
        where = key > best ? here : where;
        best = key > best ? key : best;
      }
      VK::Store(best_to + c, best);
      VK::Store(at + c, where);
    }
  }

  // Of a window whose rows are in rows_ and begin at column `left`, which is
  // `place`. kSize: how many rows and columns there are, or 0.
  template <int kSize>
  void FindWindow(int64_t rows, int64_t columns, int64_t left, K place,
                  K* at) const {
    const int64_t height = kSize > 0 ? kSize : rows;
    const int64_t width = kSize > 0 ? kSize : columns;
    const K line = static_cast<K>(g_.in[2]);
    const int64_t channels = channels_;
    for (int64_t c = 0; c < channels; c += kLanes) {
      // Below all keys.
      auto best = typename VK::Type{} + std::numeric_limits<K>::min();
      typename VK::Type where = {};
      auto row_place = typename VK::Type{} + place;
      for (int64_t r = 0; r < height; ++r, row_place += line) {
        const K* key = rows_[r] + left * channels + c;
        auto here = row_place;
        for (int64_t q = 0; q < width; ++q, key += channels, here += 1) {
          const auto k = VK::Load(key);
          const auto take = k > best;
          best = take ? k : best;
          where = take ? here : where;
        }
      }
      VK::Store(at + c, where);
    }
  }

  // Input row r, which the first `count` of seen_ see.
  void Gather(int64_t r, int64_t count) {
    T* const to = x_grad_ + r * in_width_;
    const bool in_place = whole_ && !stream_;
    A* sums = in_place ? reinterpret_cast<A*>(to) : sums_.data();
    const int64_t stride = g_.window.stride[2];
    // The output columns [first, last) see column q; the windows of `first` end
    // at `ends`, that of `last` begins at `begins`.
    int64_t first = 0, last = 0;
    int64_t begins = -g_.window.pad_before[2];
    int64_t ends = begins + g_.window.kernel[2];
    K place = static_cast<K>(kInSteps ? 0 : r * g_.in[2]);
    if (kInSteps) {
      AddSeen(static_cast<K>(r), static_cast<int>(count));
      seen_[0] = {columns_.data() + KeptOfInput(r), of_row_.data()};
      count = 1;
    }
    for (int64_t q = 0; q < g_.in[2]; ++q, ++place, sums += channels_) {
      for (; first < g_.out[2] && ends <= q; ends += stride) ++first;
      for (; last < g_.out[2] && begins <= q; begins += stride) ++last;
      const int64_t columns = std::max<int64_t>(last - first, 0);
      if (count == 1 && columns == 1) {
        GatherPixel<1, 1>(1, 1, first, place, sums);
      } else if (count == 1 && columns == 2) {
        GatherPixel<1, 2>(1, 2, first, place, sums);
      } else if (count == 2 && columns == 1) {
        GatherPixel<2, 1>(2, 1, first, place, sums);
      } else if (count == 2 && columns == 2) {
        GatherPixel<2, 2>(2, 2, first, place, sums);
      } else {
        GatherPixel<0, 0>(count, columns, first, place, sums);
      }
    }
    if (in_place) return;
    const A* const __restrict from = sums_.data();
    const int64_t bytes = in_width_ * static_cast<int64_t>(sizeof(T));
    if (stream_ && std::is_same_v<T, A>) return StreamCopy(to, from, bytes);
    T* const __restrict out = stream_ ? streamed_.data() : to;
    for (int64_t k = 0; k < in_width_; ++k) out[k] = T(from[k]);
    if (stream_) StreamCopy(to, out, bytes);
  }

  // The gradients of the maxima that are in input row r, of the first `count`
  // of seen_, to of_row_.
  void AddSeen(K r, int count) {
    const auto here = typename VK::Type{} + r;
    const Seen* const seen = seen_.data();
    A* const to = of_row_.data();
    for (int64_t j = 0; j < out_width_; j += kLanes) {
      typename VA::Type sum = {};
      for (int i = 0; i < count; ++i) {
        const auto hit = VK::Load(seen[i].at + j) == here;
        sum += hit ? VA::Load(seen[i].grads + j) : typename VA::Type{};
      }
      VA::Store(to + j, sum);
    }
  }

  // The sum over the windows of output columns [first, first + columns) in the
  // first `rows` of seen_; kRows and kColumns are these numbers, or 0.
  template <int kRows, int kColumns>
  void GatherPixel(int64_t rows, int64_t columns, int64_t first, K place,
                   A* to) const {
    if (kRows > 0) rows = kRows;
    if (kColumns > 0) columns = kColumns;
    const int64_t channels = channels_;
    const Seen* const seen = seen_.data();
    const auto here = typename VK::Type{} + place;
    for (int64_t c = 0; c < channels; c += kLanes) {
      typename VA::Type sum = {};
      for (int64_t i = 0; i < rows; ++i) {
        const K* at = seen[i].at + first * channels + c;
        const A* grad = seen[i].grads + first * channels + c;
        for (int64_t j = 0; j < columns; ++j) {
          const auto hit = VK::Load(at + j * channels) == here;
          sum += hit ? VA::Load(grad + j * channels) : typename VA::Type{};
        }
      }
      VA::Store(to + c, sum);
    }
  }

  const PoolGeometry& g_;
  const T *const grad_out_, *const x_;
  T* const x_grad_;
  const int64_t channels_, in_width_, out_width_, in_room_, out_room_;
  const int64_t keys_kept_, rows_kept_;
  const bool whole_;  // rows are read and written where they lie
  const bool stream_;
  int64_t next_key_ = 0;
  // Input row r at r % keys_kept_, output row i at i % rows_kept_; in steps
  // keys are those of the row at hand.
  std::vector<K> keys_, best_, columns_, unused_, at_;
  std::vector<A> grads_, of_row_, sums_;
  std::vector<T> streamed_;
  std::vector<const K*> rows_;  // of keys_ or best_ that a window sees
  std::vector<Seen> seen_;
};

template <typename T>
void MaxPoolGradRows(const PoolGeometry& g, const PoolRows& rows,
                     const void* grad_out, const void* x, void* x_grad) {
  const auto run = [&]<bool kInSteps>(std::bool_constant<kInSteps>) {
    MaxPoolGradient<T, kInSteps>(g, rows, static_cast<const T*>(grad_out),
                                 static_cast<const T*>(x),
                                 static_cast<T*>(x_grad))
        .Run(rows.first, rows.last);
  };
  // Steps keep more beside each other.
  const int64_t high = g.window.kernel[1], wide = g.window.kernel[2];
  if (std::min(high, g.in[1]) * std::min(wide, g.in[2]) > 2 * (high + wide))
    run(std::true_type{});
  else
    run(std::false_type{});
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_NN_MAX_POOL_GRAD_ROWS_H_
