// Compiled once for each instruction set (bazel/isa.bzl). Pixels of a row are
// lanes, so that vectors are full where channels would leave most of them
// empty: the rows that some output rows see are laid out channel by channel,
// with their padding, and each tap is a vector at its offset in them.
#include "ops/nn/few_channels_loops.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/primitives/cpu/turn.h"
#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using V = VectorOf<float>;
constexpr int64_t kLanes = V::kLanes;
constexpr int kRegisters = kVectorBytes == 64 ? 32 : 16;

// The number in all lanes: unlike + 0, - 0 is nothing.
inline V::Type Spread(float x) { return x - V::Type{}; }

// Bytes of the rows that are laid out at a time, and the fewest output rows.
constexpr int64_t kScratchBytes = 256 << 10, kLeastRows = 8;

// to[j * to_step + i] = from[i * from_step + j] for i < n, j < m.
void TurnInto(const float* from, int64_t n, int64_t m, int64_t from_step,
              float* to, int64_t to_step) {
  if (m == 1 && from_step == 1) {
    std::memcpy(to, from, n * sizeof(float));
    return;
  }
  if (n < kPiece || m < kPiece) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j)
        to[j * to_step + i] = from[i * from_step + j];
    return;
  }
  Piece rows;
  // The last pieces take some elements again.
  for (int64_t i_end = kPiece; i_end < n + kPiece; i_end += kPiece) {
    const int64_t i = std::min(i_end, n) - kPiece;
    for (int64_t j_end = kPiece; j_end < m + kPiece; j_end += kPiece) {
      const int64_t j = std::min(j_end, m) - kPiece;
      Load(from + i * from_step + j, from_step, rows);
      Turn(rows);
      for (int k = 0; k < kPiece; ++k)
        std::memcpy(to + (j + k) * to_step + i, &rows[k], sizeof(PieceRow));
    }
  }
}

template <int kOut>
class FewChannelsConv {
 public:
  FewChannelsConv(const ConvGeometry& g, const float* weight, const float* bias)
      : g_(g),
        weight_(weight),
        width_(Whole(g.out[1]) + g.window.Extent(1) - 1),
        most_rows_(
            std::clamp<int64_t>(kScratchBytes / (4 * g.in_channels * width_) -
                                    (g.window.Extent(0) - 1),
                                kLeastRows, std::max(kLeastRows, g.out[0]))),
        plane_((most_rows_ + g.window.Extent(0) - 1) * width_),
        planes_(g.in_channels * plane_, 0.f) {
    for (int o = 0; o < kOut; ++o) bias_[o] = bias != nullptr ? bias[o] : 0.f;
  }

  void Run(const float* x, float* y, int64_t begin, int64_t end) {
    const int64_t height = g_.out[0];
    while (begin < end) {
      const int64_t image = begin / height, first = begin % height;
      const int64_t count = std::min({end - begin, height - first, most_rows_});
      LayOut(x + image * g_.in_pixels() * g_.in_channels, first, count);
      RunRows(count, y + begin * g_.out[1] * kOut);
      begin += count;
    }
  }

 private:
  // Vectors that a step of the loop computes: with the sums, an input of each
  // and a weight they fill the registers.
  static constexpr int kPlaces =
      std::clamp((kRegisters - 1) / (kOut + 1), 1, 8);

  static int64_t Whole(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

  // What output rows [first, first + count) of an image see. Beside the image
  // there are zeros.
  void LayOut(const float* image, int64_t first, int64_t count) {
    const Window& w = g_.window;
    const int64_t top = first - w.pad_before[0];
    const int64_t rows = count + w.Extent(0) - 1;
    const int64_t channels = g_.in_channels, columns = g_.in[1];
    // Some of the last columns may be seen by no window, which have no room.
    const int64_t seen = std::min(columns, width_ - w.pad_before[1]);
    for (int64_t r = 0; r < rows; ++r) {
      float* const to = planes_.data() + r * width_;
      if (top + r < 0 || top + r >= g_.in[0]) {
        for (int64_t c = 0; c < channels; ++c)
          std::fill_n(to + c * plane_, width_, 0.f);
        continue;
      }
      TurnInto(image + (top + r) * columns * channels, seen, channels, channels,
               to + w.pad_before[1], plane_);
    }
  }

  // Output rows [0, count) of what is laid out.
  void RunRows(int64_t count, float* y) const {
    const int64_t vectors = Whole(g_.out[1]) / kLanes, all = count * vectors;
    int64_t k = 0;
    for (; k + kPlaces <= all; k += kPlaces) Places<kPlaces>(k, vectors, y);
    for (; k < all; ++k) Places<1>(k, vectors, y);
  }

  // Vectors [k, k + kCount), counted through the rows.
  template <int kCount>
  void Places(int64_t k, int64_t vectors, float* y) const {
    const float* from[kCount];
    for (int v = 0; v < kCount; ++v) {
      from[v] = planes_.data() + (k + v) / vectors * width_ +
                (k + v) % vectors * kLanes;
    }
    typename V::Type sums[kCount][kOut];
    for (int v = 0; v < kCount; ++v)
      for (int o = 0; o < kOut; ++o) sums[v][o] = Spread(bias_[o]);
    const Window& w = g_.window;
    const float* weight = weight_;
    for (int64_t c = 0; c < g_.in_channels; ++c) {
      for (int64_t p = 0; p < w.kernel[0]; ++p) {
        const int64_t row = c * plane_ + p * w.dilation[0] * width_;
        for (int64_t q = 0; q < w.kernel[1]; ++q, weight += kOut) {
          const int64_t offset = row + q * w.dilation[1];
          typename V::Type seen[kCount];
#pragma GCC unroll 8
          for (int v = 0; v < kCount; ++v) seen[v] = V::Load(from[v] + offset);
#pragma GCC unroll 8
          for (int o = 0; o < kOut; ++o) {
            const auto factor = Spread(weight[o]);
#pragma GCC unroll 8
            for (int v = 0; v < kCount; ++v)
              sums[v][o] = V::MultiplyAdd(seen[v], factor, sums[v][o]);
          }
        }
      }
    }
    for (int v = 0; v < kCount; ++v) {
      const int64_t row = (k + v) / vectors,
                    column = (k + v) % vectors * kLanes;
      Store(sums[v], std::min(kLanes, g_.out[1] - column),
            y + (row * g_.out[1] + column) * kOut);
    }
  }

  // The first `count` pixels of a vector.
  static void Store(const typename V::Type (&sums)[kOut], int64_t count,
                    float* y) {
    alignas(64) float channels[kPiece][std::max<int64_t>(kLanes, kPiece)] = {};
    for (int o = 0; o < kOut; ++o) V::Store(channels[o], sums[o]);
    Piece rows;
    for (int64_t begin = 0; begin < count; begin += kPiece) {
      Load(channels[0] + begin, sizeof(channels[0]) / sizeof(float), rows);
      Turn(rows);
      const int64_t pixels = std::min<int64_t>(kPiece, count - begin);
      for (int64_t i = 0; i < pixels; ++i)
        std::memcpy(y + (begin + i) * kOut, &rows[i], kOut * sizeof(float));
    }
  }

  const ConvGeometry& g_;
  const float* const weight_;
  float bias_[kOut];
  // A row that is laid out, output rows at a time, and a channel of them.
  const int64_t width_, most_rows_, plane_;
  std::vector<float> planes_;
};

template <int kOut>
void Run(const ConvGeometry& g, const float* x, const float* weight,
         const float* bias, float* y, int64_t begin, int64_t end) {
  FewChannelsConv<kOut>(g, weight, bias).Run(x, y, begin, end);
}

}  // namespace

// A vector over channels would be filled to less than a half.
int64_t FewChannels() {
  return std::min<int64_t>(kLanes * 3 / 8, kMostFewChannels);
}

FewChannelsLoop FewChannelsLoopFor(int64_t out_channels) {
  constexpr FewChannelsLoop kLoops[] = {Run<1>, Run<2>, Run<3>, Run<4>,
                                        Run<5>, Run<6>, Run<7>, Run<8>};
  return kLoops[out_channels - 1];
}

}  // namespace proa::inline v0::ops::PROA_ISA
