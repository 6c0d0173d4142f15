// Compiled once for each instruction set (bazel/isa.bzl). Outputs are taken in
// tiles that stay, with what their windows see, in the first cache; of a tile,
// each tap is summed up in registers.
#include "ops/nn/depthwise_loops.h"

#include <algorithm>
#include <cstring>

#include "ops/primitives/cpu/vectors.h"
#include "tensor/bfloat16.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Pixels of a tile: with 64 channels, and a window of 5 x 5 with stride 1, 40
// KiB of x and y.
constexpr int64_t kTileColumns = 16, kTilePixels = 32;

// kLanes numbers as float32.
template <int kLanes>
struct Lanes {
  typedef float Type __attribute__((vector_size(4 * kLanes)));
  static Type Load(const float* from) {
    Type v;
    std::memcpy(&v, from, sizeof(v));
    return v;
  }
  static Type Load(const bfloat16* from) {
    float wide[kLanes];
    for (int i = 0; i < kLanes; ++i) wide[i] = static_cast<float>(from[i]);
    return Load(wide);
  }
};
template <>
struct Lanes<1> {
  using Type = float;
  template <typename T>
  static float Load(const T* from) {
    return static_cast<float>(*from);
  }
};

// One tap of a tile: rows of pixels of y, and what they see of x.
template <typename T>
struct TapRows {
  const T *x, *y;
  int64_t x_row, y_row, x_step, y_step;  // elements from one to the next
  int64_t rows, columns;
};

// sums[0, kChannels) += the products of a tap. An addition waits for the one
// before it, so few channels have several sums, of pixels that take turns.
// Apart, so that it has all registers.
template <int kChannels, typename T>
[[gnu::noinline]] void SumTap(const TapRows<T>& t, float* sums) {
  constexpr int kLanes =
      std::min(kChannels, kVectorBytes / static_cast<int>(sizeof(float)));
  constexpr int kVectors = kChannels / kLanes;
  constexpr int kTurns = kChannels >= 64 ? 1 : kChannels >= 32 ? 2 : 4;
  using V = Lanes<kLanes>;
  typename V::Type sum[kTurns][kVectors] = {};
  const T *x_row = t.x, *y_row = t.y;
  for (int64_t i = 0; i < t.rows; ++i, x_row += t.x_row, y_row += t.y_row) {
    const T *x = x_row, *y = y_row;
    const auto add = [&](int turn) {
      for (int v = 0; v < kVectors; ++v)
        sum[turn][v] += V::Load(x + v * kLanes) * V::Load(y + v * kLanes);
      x += t.x_step;
      y += t.y_step;
    };
    int64_t j = 0;
    for (; j + kTurns <= t.columns; j += kTurns)
      for (int turn = 0; turn < kTurns; ++turn) add(turn);
    for (int turn = 0; turn < kTurns - 1; ++turn)
      if (j + turn < t.columns) add(turn);
  }
  for (int turn = 1; turn < kTurns; ++turn)
    for (int v = 0; v < kVectors; ++v) sum[0][v] += sum[turn][v];
  for (int v = 0; v < kVectors; ++v) {
    typename V::Type all = V::Load(sums + v * kLanes) + sum[0][v];
    std::memcpy(sums + v * kLanes, &all, sizeof(all));
  }
}

// Of all channels of a part.
template <typename T>
void SumChannels(TapRows<T> t, int64_t channels, float* sums) {
  const auto all = [&]<int kChannels>() {
    for (; channels >= kChannels; channels -= kChannels) {
      SumTap<kChannels>(t, sums);
      t.x += kChannels;
      t.y += kChannels;
      sums += kChannels;
    }
  };
  all.template operator()<64>();
  all.template operator()<32>();
  all.template operator()<16>();
  all.template operator()<8>();
  all.template operator()<4>();
  all.template operator()<1>();
}

PartRange Both(const PartRange& a, const PartRange& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

template <typename T>
class TileSums {
 public:
  TileSums(const DepthwiseShape& shape, const DepthwisePart& part, const T* x,
           const T* y, float* sums)
      : s_(shape), part_(part), x_(x), y_(y), sums_(sums) {}

  // Of the outputs `rows` by `columns` of plane k of image n.
  void Add(int64_t n, int64_t k, const PartRange& rows,
           const PartRange& columns) const {
    const auto& [planes, high, wide] = s_.dims;
    const int64_t count = part_.channels.size();
    float* sums = sums_;
    for (int64_t o = 0; o < planes.taps(); ++o) {
      const bool seen = k >= planes.inside[o].begin && k < planes.inside[o].end;
      const int64_t plane = n * planes.in + k * planes.stride + planes.shift[o];
      for (int64_t p = 0; p < high.taps(); ++p) {
        const PartRange r = Both(rows, high.inside[p]);
        if (!seen || r.size() <= 0) {
          sums += wide.taps() * count;
          continue;
        }
        const int64_t row =
            plane * high.in + r.begin * high.stride + high.shift[p];
        const int64_t y_row = (n * planes.out + k) * high.out + r.begin;
        for (int64_t q = 0; q < wide.taps(); ++q, sums += count) {
          const PartRange c = Both(columns, wide.inside[q]);
          if (c.size() <= 0) continue;
          TapRows<T> t;
          t.x = At(x_, row * wide.in + c.begin * wide.stride + wide.shift[q]);
          t.y = At(y_, y_row * wide.out + c.begin);
          t.x_step = wide.stride * s_.channels;
          t.y_step = s_.channels;
          t.x_row = high.stride * wide.in * s_.channels;
          t.y_row = wide.out * s_.channels;
          t.rows = r.size();
          t.columns = c.size();
          SumChannels(t, count, sums);
        }
      }
    }
  }

 private:
  const T* At(const T* data, int64_t pixel) const {
    return data + pixel * s_.channels + part_.channels.begin;
  }

  const DepthwiseShape& s_;
  const DepthwisePart& part_;
  const T *x_, *y_;
  float* sums_;
};

template <typename T>
void WeightGrad(const DepthwiseShape& shape, const DepthwisePart& part,
                const void* x, const void* y, float* sums) {
  int64_t taps = 1;
  for (const DepthwiseDim& d : shape.dims) taps *= d.taps();
  std::fill_n(sums, taps * part.channels.size(), 0.f);
  const TileSums<T> tiles(shape, part, static_cast<const T*>(x),
                          static_cast<const T*>(y), sums);
  const auto& [planes, rows, columns] = part.outputs;
  const int64_t wide = std::clamp<int64_t>(columns.size(), 1, kTileColumns);
  const int64_t high = kTilePixels / wide;
  for (int64_t n = part.images.begin; n < part.images.end; ++n)
    for (int64_t k = planes.begin; k < planes.end; ++k)
      for (int64_t i = rows.begin; i < rows.end; i += high)
        for (int64_t j = columns.begin; j < columns.end; j += wide)
          tiles.Add(n, k, Both(rows, {i, i + high}),
                    Both(columns, {j, j + wide}));
}

}  // namespace

DepthwiseWeightGradLoop DepthwiseWeightGradLoopFor(DType dtype) {
  if (dtype == DType::kBFloat16) return WeightGrad<bfloat16>;
  return WeightGrad<float>;
}

}  // namespace proa::inline v0::ops::PROA_ISA
