#include "ops/nn/weight_grad_products.h"

#include <algorithm>
#include <array>

#include "ops/nn/float_copy.h"
#include "ops/nn/matrix_columns.h"
#include "ops/nn/weight_grad_parts.h"
#include "ops/onednn/sgemm.h"
#include "ops/onednn/threads.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

// The spatial dim of a convolution over a line, -1 if it is none: the others
// have one element and one tap.
int LineOf(const ConvGeometry& g) {
  int line = -1;
  for (int d = 0; d < kMostSpatialDims; ++d) {
    if (g.in[d] == 1 && g.out[d] == 1 && g.window.kernel[d] == 1 &&
        g.window.pad_before[d] == 0)
      continue;
    if (line >= 0) return -1;
    line = d;
  }
  return line;
}

// The places whose tap lies in the input, as lines along one dim: a product
// reads the pixels of a line in steps of one size.
class LinesOfTap {
 public:
  LinesOfTap(const ConvGeometry& g, int64_t tap, int along)
      : g_(g), along_(along) {
    for (int d = kMostSpatialDims - 1; d >= 0; --d) {
      at_[d] = tap % g.window.kernel[d];
      tap /= g.window.kernel[d];
      inside_[d] = InsideOfTap(g, d, at_[d]);
      if (d != along) count_ *= inside_[d].size();
    }
    if (size() == 0) count_ = 0;
  }
  int64_t count() const { return count_; }  // of each image
  int64_t size() const { return inside_[along_].size(); }

  // Where line k begins, as a number of pixels of an image.
  struct Start {
    int64_t x, y;
  };
  Start operator[](int64_t k) const {
    std::array<int64_t, kMostSpatialDims> place;
    for (int d = kMostSpatialDims - 1; d >= 0; --d) {
      place[d] = inside_[d].begin;
      if (d == along_) continue;
      place[d] += k % inside_[d].size();
      k /= inside_[d].size();
    }
    Start start = {0, 0};
    for (int d = 0; d < kMostSpatialDims; ++d) {
      const Window& w = g_.window;
      start.y = start.y * g_.out[d] + place[d];
      start.x = start.x * g_.in[d] + place[d] * w.stride[d] +
                at_[d] * w.dilation[d] - w.pad_before[d];
    }
    return start;
  }

 private:
  const ConvGeometry& g_;
  const int along_;
  std::array<int64_t, kMostSpatialDims> at_;
  std::array<PartRange, kMostSpatialDims> inside_;
  int64_t count_ = 1;
};

}  // namespace

bool SuitsProducts(const ConvGeometry& g) {
  constexpr int64_t kLeastChannels = 16, kLeastPixels = 64;
  const int line = LineOf(g);
  return line >= 0 && g.groups == 1 && g.in_channels >= kLeastChannels &&
         g.out_channels >= kLeastChannels && g.out[line] >= kLeastPixels;
}

// A part is a tap of some channels of y, so that nothing is added up.
void WeightGradByProducts(const ConvGeometry& g, const ConvData& data) {
  // The dims behind `along` have one element: it lies in steps of a pixel.
  const int line = LineOf(g), along = line >= 0 ? line : g.dims() - 1;
  const int64_t o = g.out_channels, i = g.in_channels, taps = g.taps();
  const float* x = data.x.data<float>();
  const float* y = data.y.data<float>();
  // [tap, o, i]
  const Tensor sums = Tensor::Empty({taps, o, i}, DType::kFloat32);
  constexpr int64_t kChannels = 64;
  const int64_t parts = (o + kChannels - 1) / kChannels;
  parallel_for(0, taps * parts, 1, [&](int64_t begin, int64_t end) {
    const onednn::SerialScope serial;
    for (int64_t part = begin; part < end; ++part) {
      const int64_t q = part / parts, first = part % parts * kChannels;
      const int64_t channels = std::min(kChannels, o - first);
      const LinesOfTap lines(g, q, along);
      float* const sum = sums.data<float>() + (q * o + first) * i;
      if (lines.count() == 0) {
        std::fill_n(sum, channels * i, 0.f);
        continue;
      }
      for (int64_t k = 0; k < g.batch * lines.count(); ++k) {
        const int64_t n = k / lines.count();
        const LinesOfTap::Start at = lines[k % lines.count()];
        const MatrixColumns a(y + (n * g.out_pixels() + at.y) * o, lines.size(),
                              o, first, channels);
        const MatrixColumns b(x + (n * g.in_pixels() + at.x) * i, lines.size(),
                              g.window.stride[along] * i, 0, i);
        onednn::Sgemm({.transpose_a = true,
                       .m = channels,
                       .n = i,
                       .k = lines.size(),
                       .a = a.data(),
                       .lda = a.step(),
                       .b = b.data(),
                       .ldb = b.step(),
                       .c = sum,
                       .ldc = i,
                       .accumulate = k > 0});
      }
    }
  });
  Shape shape = data.weight.shape();
  Strides strides = ContiguousStrides(shape);
  // As [tap, o, i] lies: the taps are the last dims of the weight.
  for (int d = 2; d < shape.rank(); ++d) strides[d] *= o * i;
  strides[0] = i;
  strides[1] = 1;
  FloatCopyInto(sums.AsStrided(shape, strides, 0), data.weight);
}

}  // namespace proa::inline v0::ops
