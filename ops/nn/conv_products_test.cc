// float64's convolutions against the loops that define them.
#include "ops/nn/conv_products.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/nn/conv_loops.h"
#include "ops/nn/conv_pointwise.h"
#include "tensor/parallel.h"

namespace proa::ops {
namespace {

std::vector<double> Numbers(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> one(-1, 1);
  std::vector<double> out(n);
  for (double& v : out) v = one(rng);
  return out;
}

void SetDim(ConvGeometry& g, int d, int64_t in, int64_t kernel, int64_t stride,
            int64_t dilation, int64_t before, int64_t after) {
  Window& w = g.window;
  w.kernel[d] = kernel;
  w.stride[d] = stride;
  w.dilation[d] = dilation;
  w.pad_before[d] = before;
  w.pad_after[d] = after;
  g.in[d] = in;
  g.out[d] = (in + before + after - w.Extent(d)) / stride + 1;
}

ConvGeometry Channels(int64_t batch, int64_t in, int64_t out, int64_t groups) {
  ConvGeometry g;
  g.format = {.dims = 3, .channels_last = true};
  g.batch = batch;
  g.in_channels = in;
  g.out_channels = out;
  g.groups = groups;
  return g;
}

void ExpectNear(const std::vector<double>& is,
                const std::vector<double>& wanted) {
  ASSERT_EQ(is.size(), wanted.size());
  for (size_t i = 0; i < is.size(); ++i)
    ASSERT_NEAR(is[i], wanted[i], 1e-12 * std::max(1., std::abs(wanted[i])))
        << i;
}

struct Results {
  std::vector<double> y, x, weight;
};

template <typename Forward, typename Input, typename Weight>
Results ResultsOf(const ConvGeometry& g, bool with_bias, Forward forward,
                  Input input, Weight weight) {
  const int64_t outputs = g.batch * g.out_pixels() * g.out_channels;
  const int64_t inputs = g.batch * g.in_pixels() * g.in_channels;
  const int64_t weights = g.out_channels * g.in_channels_per_group() * g.taps();
  const std::vector<double> x = Numbers(inputs, 1), w = Numbers(weights, 2);
  const std::vector<double> grad = Numbers(outputs, 3),
                            bias = Numbers(g.out_channels, 4);
  const double unset = std::numeric_limits<double>::quiet_NaN();
  Results r = {std::vector<double>(outputs, unset),
               std::vector<double>(inputs, unset),
               std::vector<double>(weights, unset)};
  forward(g, x.data(), w.data(), with_bias ? bias.data() : nullptr, r.y.data());
  input(g, r.x.data(), w.data(), grad.data());
  weight(g, x.data(), r.weight.data(), grad.data());
  return r;
}

Results Products(const ConvGeometry& g, bool with_bias) {
  return ResultsOf(g, with_bias, ConvProducts, ConvInputGradProducts,
                   ConvWeightGradProducts);
}

void ExpectTheLoops(const ConvGeometry& g, bool with_bias) {
  const Results wanted =
      ResultsOf(g, with_bias, ConvLoops<double>, ConvInputGradLoops<double>,
                ConvWeightGradLoops<double>);
  const int threads = GetNumThreads();
  SetNumThreads(1);
  const Results one = Products(g, with_bias);
  SetNumThreads(3);
  const Results three = Products(g, with_bias);
  SetNumThreads(threads);
  ExpectNear(one.y, wanted.y);
  ExpectNear(one.x, wanted.x);
  ExpectNear(one.weight, wanted.weight);
  EXPECT_EQ(one.y, three.y);
  EXPECT_EQ(one.x, three.x);
  EXPECT_EQ(one.weight, three.weight);
}

TEST(ConvProductsTest, AnyGeometry) {
  std::mt19937 rng(5);
  const auto of = [&](std::initializer_list<int64_t> values) {
    return values.begin()[rng() % values.size()];
  };
  for (int k = 0; k < 300; ++k) {
    const int64_t groups = of({1, 1, 1, 2, 3, 5});
    const bool depthwise = groups > 1 && k % 3 == 0;
    const int64_t in = depthwise ? 1 : of({1, 2, 3, 8, 17, 33, 40});
    const int64_t out = depthwise ? 1 : of({1, 2, 3, 8, 25, 40});
    ConvGeometry g = Channels(of({1, 2, 3}), in * groups, out * groups, groups);
    g.format.dims = 1 + k % 3;
    for (int d = 0; d < g.format.dims; ++d) {
      const int64_t kernel = of({1, 1, 2, 3, 4}), dilation = of({1, 1, 2, 3});
      const int64_t extent = (kernel - 1) * dilation + 1;
      const int64_t before = of({0, 0, 1, extent / 2, extent + 1});
      const int64_t after = of({0, 0, before, 2});
      const int64_t in = std::max<int64_t>(1, extent - before - after) +
                         of({0, 1, 2, 3, 5, 7});
      SetDim(g, d, in, kernel, of({1, 1, 2, 3}), dilation, before, after);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectTheLoops(g, k % 2 == 0)) << k;
  }
}

// [image, pixel, channel] as [image, channel, pixel].
std::vector<double> ChannelsFirst(const std::vector<double>& x, int64_t images,
                                  int64_t channels) {
  std::vector<double> out(x.size());
  const int64_t pixels = static_cast<int64_t>(x.size()) / images / channels;
  for (int64_t i = 0; i < images; ++i)
    for (int64_t p = 0; p < pixels; ++p)
      for (int64_t c = 0; c < channels; ++c)
        out[(i * channels + c) * pixels + p] =
            x[(i * pixels + p) * channels + c];
  return out;
}

TEST(ConvProductsTest, PointwiseOfImagesInAnyOrder) {
  for (const int64_t groups : {1, 3})
    for (const int64_t batch : {1, 3}) {
      const int64_t in = 52 * groups, out = 50 * groups;
      ConvGeometry g = Channels(batch, in, out, groups);
      SetDim(g, 1, 33, 1, 1, 1, 0, 0);
      SetDim(g, 2, 32, 1, 1, 1, 0, 0);
      ASSERT_TRUE(IsPointwiseProduct(g));
      const int64_t pixels = g.in_pixels();
      const auto run = [&](bool x_first, bool y_first) {
        const auto images = [&](const double* data, int64_t channels,
                                bool first) {
          double* const to = const_cast<double*>(data);
          return first ? PixelsOf{to, pixels * channels, 1, pixels}
                       : PixelsOf{to, pixels * channels, channels, 1};
        };
        return ResultsOf(
            g, true,
            [&](const ConvGeometry& g, const double* x, const double* w,
                const double* bias, double* y) {
              std::vector<double> turned(x, x + batch * pixels * in);
              if (x_first) turned = ChannelsFirst(turned, batch, in);
              PointwiseConv(g, images(turned.data(), in, x_first), w, bias,
                            images(y, out, false));
            },
            [&](const ConvGeometry& g, double* x, const double* w,
                const double* y) {
              std::vector<double> turned(y, y + batch * pixels * out);
              if (y_first) turned = ChannelsFirst(turned, batch, out);
              PointwiseInputGrad(g, images(x, in, false), w,
                                 images(turned.data(), out, y_first));
            },
            [&](const ConvGeometry& g, const double* x, double* w,
                const double* y) {
              std::vector<double> a(x, x + batch * pixels * in);
              std::vector<double> b(y, y + batch * pixels * out);
              if (x_first) a = ChannelsFirst(a, batch, in);
              if (y_first) b = ChannelsFirst(b, batch, out);
              PointwiseWeightGrad(g, images(a.data(), in, x_first), w,
                                  images(b.data(), out, y_first));
            });
      };
      const Results wanted = Products(g, true);
      for (const bool x_first : {false, true})
        for (const bool y_first : {false, true}) {
          const Results is = run(x_first, y_first);
          ExpectNear(is.y, wanted.y);
          ExpectNear(is.x, wanted.x);
          ExpectNear(is.weight, wanted.weight);
        }
    }
}

// Several tiles of outputs, parts of lines and of channels.
TEST(ConvProductsTest, MoreThanATile) {
  ConvGeometry line = Channels(3, 40, 30, 1);
  SetDim(line, 2, 200, 36, 1, 1, 17, 18);
  ExpectTheLoops(line, true);
  ConvGeometry plane = Channels(2, 70, 26, 2);
  SetDim(plane, 1, 20, 5, 1, 1, 2, 2);
  SetDim(plane, 2, 21, 5, 1, 1, 2, 2);
  ExpectTheLoops(plane, true);
  ConvGeometry points = Channels(2, 130, 70, 2);
  SetDim(points, 1, 20, 1, 1, 1, 0, 0);
  SetDim(points, 2, 19, 1, 1, 1, 0, 0);
  ExpectTheLoops(points, true);
  ConvGeometry channels = Channels(2, 150, 150, 150);
  SetDim(channels, 1, 20, 3, 2, 1, 1, 1);
  SetDim(channels, 2, 19, 3, 1, 2, 1, 1);
  ExpectTheLoops(channels, true);
}

TEST(ConvProductsTest, LoopsForWhatIsTinyOrPadding) {
  ConvGeometry tiny = Channels(1, 2, 3, 1);
  SetDim(tiny, 2, 5, 3, 1, 1, 0, 0);
  EXPECT_FALSE(SuitsConvProducts(tiny));
  ConvGeometry plane = Channels(1, 8, 8, 1);
  SetDim(plane, 1, 20, 3, 1, 1, 1, 1);
  SetDim(plane, 2, 20, 3, 1, 1, 1, 1);
  EXPECT_TRUE(SuitsConvProducts(plane));
  // Each output sees one pixel, of a million taps.
  ConvGeometry padding = Channels(1, 1, 1, 1);
  SetDim(padding, 1, 1, 1000, 1, 1, 999, 999);
  SetDim(padding, 2, 1, 1000, 1, 1, 999, 999);
  EXPECT_FALSE(SuitsConvProducts(padding));
}

// What is not a number stays within its group and reach.
TEST(ConvProductsTest, NanStaysWhereItIs) {
  for (int64_t groups : {2, 8}) {
    ConvGeometry g = Channels(1, 8, 8, groups);
    SetDim(g, 1, 9, 3, 1, 1, 1, 1);
    SetDim(g, 2, 9, 3, 1, 1, 1, 1);
    std::vector<double> x = Numbers(8 * 81, 1);
    const std::vector<double> w = Numbers(8 * 8 / groups * 9, 2);
    x[(4 * 9 + 4) * 8] = std::numeric_limits<double>::infinity();
    std::vector<double> y(8 * 81), wanted(8 * 81);
    ConvProducts(g, x.data(), w.data(), nullptr, y.data());
    ConvLoops<double>(g, x.data(), w.data(), nullptr, wanted.data());
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(std::isfinite(y[i]), std::isfinite(wanted[i])) << i;
  }
}

}  // namespace
}  // namespace proa::ops
