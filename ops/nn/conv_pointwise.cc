#include "ops/nn/conv_pointwise.h"

#include <algorithm>

#include "ops/linalg/double_product.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

int64_t CountParts(int64_t size, int64_t step) {
  return (size + step - 1) / step;
}

// Batches of images that lie one behind the other are one image of more pixels.
struct Batch {
  int64_t images, pixels;
};
Batch BatchOf(const ConvGeometry& g, const PixelsOf& x, const PixelsOf& y) {
  const int64_t pixels = g.out_pixels();
  if (g.batch == 1 || (x.IsOneRow(pixels) && y.IsOneRow(pixels)))
    return {1, g.batch * pixels};
  return {g.batch, pixels};
}

// From `a`, of `ag` channels in a group, to `c`, of `cg`; the weight of a group
// begins `group` elements behind that of the one before.
struct Weights {
  const double* data;
  int64_t group, a_channel, c_channel;
};
void MultiplyPixels(const ConvGeometry& g, const PixelsOf& a, int64_t ag,
                    const Weights& weight, const double* bias,
                    const PixelsOf& c, int64_t cg) {
  constexpr int64_t kPixels = 256, kWork = 1 << 16;
  const Batch batch = BatchOf(g, a, c);
  const int64_t tiles = CountParts(batch.pixels, kPixels);
  const int64_t work = std::max<int64_t>(1, kPixels * ag * cg);
  const DoubleProductFunction run = FindDoubleProduct();
  parallel_for(
      0, batch.images * tiles * g.groups, std::max<int64_t>(1, kWork / work),
      [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const int64_t group = k % g.groups;
          const int64_t first = k / g.groups % tiles * kPixels;
          const int64_t image = k / g.groups / tiles;
          DoubleProduct p;
          p.m = std::min(kPixels, batch.pixels - first);
          p.n = cg;
          p.k = ag;
          p.a = a.data + image * a.image + first * a.pixel +
                group * ag * a.channel;
          p.a_row = a.pixel;
          p.a_column = a.channel;
          p.b = weight.data + group * weight.group;
          p.b_row = weight.a_channel;
          p.b_column = weight.c_channel;
          p.bias = bias == nullptr ? nullptr : bias + group * cg;
          p.c = c.data + image * c.image + first * c.pixel + group * cg;
          p.c_row = c.pixel;
          run(p);
        }
      });
}

}  // namespace

bool IsPointwiseProduct(const ConvGeometry& g) {
  if (g.groups > 1 && g.groups == g.in_channels && g.groups == g.out_channels)
    return false;  // each channel by itself is no product
  for (int d = 0; d < kMostSpatialDims; ++d)
    if (g.window.kernel[d] != 1 || g.window.stride[d] != 1 ||
        g.window.pad_before[d] != 0 || g.in[d] != g.out[d])
      return false;
  return true;
}

void PointwiseConv(const ConvGeometry& g, const PixelsOf& x,
                   const double* weight, const double* bias,
                   const PixelsOf& y) {
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  MultiplyPixels(g, x, cg, {weight, og * cg, 1, cg}, bias, y, og);
}

void PointwiseInputGrad(const ConvGeometry& g, const PixelsOf& x,
                        const double* weight, const PixelsOf& y) {
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  MultiplyPixels(g, y, og, {weight, og * cg, cg, 1}, nullptr, x, cg);
}

void PointwiseWeightGrad(const ConvGeometry& g, const PixelsOf& x,
                         double* weight, const PixelsOf& y) {
  constexpr int64_t kChannels = 48;
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  const Batch batch = BatchOf(g, x, y);
  const int64_t parts = CountParts(cg, kChannels);
  const DoubleProductFunction run = FindDoubleProduct();
  parallel_for(0, g.groups * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t group = k / parts, first = k % parts * kChannels;
      DoubleProduct p;
      p.m = og;
      p.n = std::min(kChannels, cg - first);
      p.k = batch.pixels;
      p.a_row = y.channel;
      p.a_column = y.pixel;
      p.b_row = x.pixel;
      p.b_column = x.channel;
      p.c = weight + group * og * cg + first;
      p.c_row = cg;
      for (int64_t image = 0; image < batch.images; ++image) {
        p.a = y.data + image * y.image + group * og * y.channel;
        p.b = x.data + image * x.image + (group * cg + first) * x.channel;
        run(p);
        p.accumulate = true;
      }
    }
  });
}

}  // namespace proa::inline v0::ops
