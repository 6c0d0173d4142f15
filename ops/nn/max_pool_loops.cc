// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/nn/max_pool_loops.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/nn/float_copy.h"
#include "ops/nn/max_pool_grad_pairs.h"
#include "ops/nn/max_pool_grad_pixels.h"
#include "ops/nn/max_pool_grad_planes.h"
#include "ops/nn/max_pool_grad_rows.h"
#include "ops/nn/max_pool_keys.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Elements that loops take at a time, with room behind each row for what the
// last step of one takes too much.
constexpr int64_t kLanes = 16;

// The maxima of output rows of one image, as keys, and where they are: at
// (plane * height + row) * width + column.
template <typename T>
class Maxima {
 public:
  using A = typename Accumulate<T>::type;
  using K = typename Key<A>::type;

  Maxima(const PoolGeometry& g, int64_t channels, bool places)
      : g_(g),
        channels_(channels),
        width_(g.in[2] * channels),
        column_(width_ + 2 * kLanes),
        column_at_(places ? width_ + 2 * kLanes : 0) {}

  void SetImage(const T* x) { x_ = x; }

  // Elements that a row takes, with what is written behind it.
  int64_t RowRoom() const { return g_.out[2] * channels_ + kLanes; }

  // Row i to best[0, RowRoom()), and to `at` unless null, which takes `places`.
  // What is behind the row is of no meaning.
  void FindRow(int64_t i, K* best, K* at) {
    g_.Range(0, i / g_.out[1], &front_, &back_);
    g_.Range(1, i % g_.out[1], &top_, &bottom_);
    if (front_ >= back_ || top_ >= bottom_) {
      std::fill_n(best, RowRoom(), Lowest());
      if (at != nullptr) std::fill_n(at, RowRoom(), K(-1));
    } else if (at != nullptr) {
      FoldRows<true>();
      FoldColumns<true>(best, at);
    } else {
      FoldRows<false>();
      FoldColumns<false>(best, at);
    }
  }

 private:
  // The maximum of no elements: finite, and from the place -1.
  static K Lowest() {
    return KeyOf(static_cast<A>(std::numeric_limits<T>::lowest()));
  }

  // The input rows from front_ and top_ to back_ and bottom_, into one.
  template <bool kPlaces>
  void FoldRows() {
    K* const __restrict column = column_.data();
    K* const __restrict at = column_at_.data();
    const int64_t width = width_;
    bool is_first = true;
    for (int64_t p = front_; p < back_; ++p) {
      for (int64_t r = top_; r < bottom_; ++r) {
        const int64_t line = p * g_.in[1] + r;
        const T* const __restrict row = x_ + line * width;
        const K place = static_cast<K>(line * g_.in[2]);
        if (is_first) {
          for (int64_t k = 0; k < width; ++k)
            column[k] = KeyOf(static_cast<A>(row[k]));
          if (kPlaces) std::fill_n(at, width, place);
          is_first = false;
          continue;
        }
        for (int64_t k = 0; k < width; ++k) {
          const K key = KeyOf(static_cast<A>(row[k]));
          // By a mask: a store of some lanes only would hold up the next load.
          const K take = -static_cast<K>(key > column[k]);
          if (kPlaces) at[k] = (place & take) | (at[k] & ~take);
          column[k] = std::max(key, column[k]);
        }
      }
    }
  }

  template <bool kPlaces>
  void FoldColumns(K* __restrict best, K* __restrict at) {
    if (channels_ == 1)
      return g_.ByTaps(2) ? FoldTaps<kPlaces>(best, at)
                          : FoldWindows<kPlaces>(best, at);
    for (int64_t j = 0; j < g_.out[2]; ++j) {
      int64_t left, right;
      g_.Range(2, j, &left, &right);
      if (left >= right) {
        std::fill_n(best + j * channels_, channels_, Lowest());
        if (kPlaces) std::fill_n(at + j * channels_, channels_, K(-1));
        continue;
      }
      for (int64_t c = 0; c < channels_; c += kLanes) {
        const K* key = column_.data() + left * channels_ + c;
        const K* place = column_at_.data() + left * channels_ + c;
        K lanes[kLanes], places[kLanes];
        for (int l = 0; l < kLanes; ++l) lanes[l] = key[l];
        if (kPlaces) {
          for (int l = 0; l < kLanes; ++l)
            places[l] = place[l] + static_cast<K>(left);
        }
        for (int64_t q = left + 1; q < right; ++q) {
          key += channels_;
          place += channels_;
#pragma GCC unroll 1
          for (int l = 0; l < kLanes; ++l)
            Take<kPlaces>(key[l], place + l, q, lanes[l], places[l]);
        }
        const int64_t to = j * channels_ + c;
        for (int l = 0; l < kLanes; ++l) best[to + l] = lanes[l];
        if (kPlaces) {
          for (int l = 0; l < kLanes; ++l) at[to + l] = places[l];
        }
      }
    }
  }

  // Of one channel: taps go outermost, so that neighbouring outputs are lanes.
  template <bool kPlaces>
  void FoldTaps(K* best, K* at) {
    // Below the keys of all numbers.
    constexpr K kNone = std::numeric_limits<K>::min();
    const int64_t n = g_.out[2];
    // Whole vectors: the row has room behind it.
    const int64_t whole = (n + kLanes - 1) / kLanes * kLanes;
    std::fill_n(best, whole, kNone);
    if (kPlaces) std::fill_n(at, whole, K(-1));
    for (int64_t q = 0; q < g_.window.kernel[2]; ++q) {
      int64_t first, last;
      g_.OutputsOfTap(2, q, &first, &last);
      const auto tap = g_.window.stride[2] == 1   ? &Maxima::Tap<kPlaces, 1>
                       : g_.window.stride[2] == 2 ? &Maxima::Tap<kPlaces, 2>
                                                  : &Maxima::Tap<kPlaces, 0>;
      if (last == n && g_.window.stride[2] <= 2) last = whole;
      (this->*tap)(q - g_.window.pad_before[2], first, last, best, at);
    }
    for (int64_t j = 0; j < whole; ++j)
      best[j] = best[j] == kNone ? Lowest() : best[j];
  }

  // Of one channel, window by window; long ones by lanes.
  template <bool kPlaces>
  void FoldWindows(K* __restrict best, K* __restrict at) {
    for (int64_t j = 0; j < g_.out[2]; ++j) {
      int64_t left, right;
      g_.Range(2, j, &left, &right);
      K key = Lowest(), place = -1;
      if (right - left >= 2 * kLanes) {
        FoldLanes<kPlaces>(left, right, best + j, at + (kPlaces ? j : 0));
        continue;
      }
      if (left < right) {
        key = column_[left];
        if (kPlaces) place = column_at_[left] + static_cast<K>(left);
      }
      for (int64_t q = left + 1; q < right; ++q)
        Take<kPlaces>(column_[q], column_at_.data() + q, q, key, place);
      best[j] = key;
      if (kPlaces) at[j] = place;
    }
  }

  // Columns [left, right), at least kLanes.
  template <bool kPlaces>
  void FoldLanes(int64_t left, int64_t right, K* best, K* at) const {
    const K *const key = column_.data(), *const place = column_at_.data();
    K lanes[kLanes], places[kLanes];
    for (int l = 0; l < kLanes; ++l) lanes[l] = key[left + l];
    if (kPlaces) {
      for (int l = 0; l < kLanes; ++l)
        places[l] = place[left + l] + static_cast<K>(left + l);
    }
    // The last ones are taken together with some again, which changes nothing.
    for (int64_t q = left + kLanes; q < right; q += kLanes) {
      const int64_t from = std::min(q, right - kLanes);
#pragma GCC unroll 1
      for (int l = 0; l < kLanes; ++l)
        Take<kPlaces>(key[from + l], place + from + l, from + l, lanes[l],
                      places[l]);
    }
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (int64_t l = 0; l < half; ++l)
        Take<kPlaces>(lanes[l + half], places + l + half, 0, lanes[l],
                      places[l]);
    }
    *best = lanes[0];
    if (kPlaces) *at = places[0];
  }

  // kStride 0: whatever it is.
  template <bool kPlaces, int kStride>
  void Tap(int64_t shift, int64_t first, int64_t last, K* __restrict best,
           K* __restrict at) {
    const int64_t step = kStride > 0 ? kStride : g_.window.stride[2];
    const K *const key = column_.data(), *const place = column_at_.data();
    K none{};
    for (int64_t j = first; j < last; ++j) {
      const int64_t q = j * step + shift;
      Take<kPlaces>(key[q], place + q, q, best[j], kPlaces ? at[j] : none);
    }
  }

  // Takes in what column q has. Columns were folded by themselves, so that of
  // equal keys either may be the one at the lesser place.
  template <bool kPlaces>
  static void Take(K key, const K* row_at, int64_t q, K& best, K& at) {
    if (kPlaces) {
      const K place = *row_at + static_cast<K>(q);
      const K take =
          -static_cast<K>((key > best) | ((key == best) & (place < at)));
      at = (place & take) | (at & ~take);
    }
    best = std::max(key, best);
  }

  const PoolGeometry& g_;
  const T* x_ = nullptr;
  const int64_t channels_, width_;
  int64_t front_ = 0, back_ = 0, top_ = 0, bottom_ = 0;
  std::vector<K> column_, column_at_;
};

// Of images that are one row of one channel, in windows of two that lie side by
// side: the usual ones, which nothing needs to be laid out for.
template <typename T>
void ForwardPairs(const PoolGeometry& g, const T* x, int64_t images, T* out) {
  using A = typename Accumulate<T>::type;
  const auto run = [](const T* __restrict from, int64_t n, T* __restrict to) {
    for (int64_t j = 0; j < n; ++j) {
      const auto first = KeyOf(static_cast<A>(from[2 * j])),
                 second = KeyOf(static_cast<A>(from[2 * j + 1]));
      to[j] = T(ValueOf<A>(std::max(first, second)));
    }
  };
  const int64_t n = g.out[2];
  if (2 * n == g.in[2]) return run(x, images * n, out);
  for (int64_t i = 0; i < images; ++i) run(x + i * g.in[2], n, out + i * n);
}

bool ArePairs(const PoolGeometry& g) {
  return g.window.stride[2] == 2 && g.window.kernel[2] == 2 &&
         g.window.pad_before[2] == 0 && 2 * g.out[2] <= g.in[2];
}

// Of images that are one row of one channel. Several are laid out beside each
// other, with room between them for what windows see of no image, so that all
// their windows are one loop for each tap.
template <typename T>
void ForwardLines(const PoolGeometry& g, const T* x, int64_t images, T* out) {
  using A = typename Accumulate<T>::type;
  using K = typename Key<A>::type;
  // Below the keys of all numbers.
  constexpr K kNone = std::numeric_limits<K>::min();
  constexpr int64_t kTogether = 4096;
  const int64_t stride = g.window.stride[2], taps = g.window.kernel[2];
  const int64_t before = g.window.pad_before[2];
  // A last window may begin behind the image, far behind it with a long stride:
  // it sees nothing.
  const int64_t end = before + g.in[2];
  const int64_t seeing = std::min(g.out[2], (end + stride - 1) / stride);
  const int64_t reach = std::max(end, (seeing - 1) * stride + taps);
  // Of a stride beyond all of it there is one window.
  const int64_t step = std::min(stride, std::max<int64_t>(reach, 1));
  // Windows of an image, with those that nothing is asked of.
  const int64_t windows = (reach + step - 1) / step, room = windows * step;
  const int64_t group =
      std::min(images, std::max<int64_t>(1, kTogether / room));
  std::vector<K> keys(group * room + taps, kNone), best(group * windows);
  const K lowest = KeyOf(static_cast<A>(std::numeric_limits<T>::lowest()));
  for (int64_t first = 0; first < images; first += group) {
    const int64_t count = std::min(group, images - first);
    for (int64_t i = 0; i < count; ++i, x += g.in[2]) {
      K* const __restrict to = keys.data() + i * room + before;
      for (int64_t k = 0; k < g.in[2]; ++k) to[k] = KeyOf(static_cast<A>(x[k]));
    }
    const int64_t n = count * windows;
    K* const __restrict most = best.data();
    std::fill_n(most, n, kNone);
    for (int64_t q = 0; q < taps; ++q) {
      const K* const __restrict from = keys.data() + q;
      if (step == 1) {
        for (int64_t j = 0; j < n; ++j) most[j] = std::max(most[j], from[j]);
      } else if (step == 2) {
        for (int64_t j = 0; j < n; ++j)
          most[j] = std::max(most[j], from[2 * j]);
      } else {
        for (int64_t j = 0; j < n; ++j)
          most[j] = std::max(most[j], from[j * step]);
      }
    }
    for (int64_t i = 0; i < count; ++i, out += g.out[2]) {
      const K* const __restrict found = best.data() + i * windows;
      T* const __restrict to = out;
      for (int64_t j = 0; j < g.out[2]; ++j) {
        const K key = j < seeing && found[j] != kNone ? found[j] : lowest;
        to[j] = T(ValueOf<A>(key));
      }
    }
  }
}

template <typename T>
void Forward(const PoolGeometry& g, const PoolRows& rows, const void* x_data,
             void* out_data, int32_t* indices) {
  using A = typename Maxima<T>::A;
  using K = typename Maxima<T>::K;
  const bool places = indices != nullptr;
  const bool lines = g.in[0] * g.in[1] == 1 && g.out[0] * g.out[1] == 1 &&
                     rows.channels == 1 && rows.first == 0 && rows.last == 1;
  if (lines && !places && g.ByTaps(2)) {
    const auto run = ArePairs(g) ? ForwardPairs<T> : ForwardLines<T>;
    return run(g, static_cast<const T*>(x_data) + rows.in_start, rows.images,
               static_cast<T*>(out_data) + rows.out_start);
  }
  Maxima<T> maxima(g, rows.channels, places);
  std::vector<K> best(maxima.RowRoom()), at(places ? maxima.RowRoom() : 0);
  const int64_t width = g.out[2] * rows.channels;
  const T* x = static_cast<const T*>(x_data) + rows.in_start;
  int64_t image_start = rows.out_start;
  for (int64_t image = 0; image < rows.images; ++image) {
    maxima.SetImage(x);
    for (int64_t i = rows.first; i < rows.last; ++i) {
      const int64_t start = image_start + i * width;
      maxima.FindRow(i, best.data(), places ? at.data() : nullptr);
      for (int64_t k = 0; places && k < width; ++k)
        indices[start + k] = static_cast<int32_t>(at[k]);
      T* const __restrict out = static_cast<T*>(out_data) + start;
      const K* const __restrict keys = best.data();
      for (int64_t k = 0; k < width; ++k) out[k] = T(ValueOf<A>(keys[k]));
    }
    x += g.in_pixels() * rows.channels;
    image_start += g.out_pixels() * rows.channels;
  }
}

template <typename T>
void Backward(const PoolGeometry& g, const PoolRows& rows, const void* grad_out,
              const void* x, void* x_grad) {
  using A = typename Accumulate<T>::type;
  if constexpr (std::is_same_v<T, A>) {
    if (IsOfPairs(g) && (rows.channels == 1 || FillsVector<T>(rows.channels))) {
      const auto run =
          rows.channels == 1 ? MaxPoolGradPairs<T> : MaxPoolGradPixels<T>;
      return run(g, rows, static_cast<const T*>(grad_out),
                 static_cast<const T*>(x), static_cast<T*>(x_grad));
    }
  }
  if (rows.channels > 1)
    return MaxPoolGradRows<T>(g, rows, grad_out, x, x_grad);
  MaxPoolGradPlanes<T>(g, rows, grad_out, x, x_grad);
}

}  // namespace

MaxPoolLoops MaxPoolLoopsFor(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {Forward<float16>, Backward<float16>};
    case DType::kBFloat16:
      return {Forward<bfloat16>, Backward<bfloat16>};
    case DType::kFloat32:
      return {Forward<float>, Backward<float>};
    default:
      return {Forward<double>, Backward<double>};
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
