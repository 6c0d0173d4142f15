// oneDNN's three convolutions against the loops in double, for a sample of
// geometries, with guarded buffers, in float32 and, where the CPU has it,
// bfloat16. PROA_GEOMETRIES says how many, and PROA_GEOMETRY_SEED which, and
// PROA_GEOMETRIES_SAID=1 prints each, for what ends the process: a
// large sample of these runs under the address sanitizer too, which the Python
// tests (conv_geometry_test.py) are slow with. What fails on some CPU only
// belongs into conv_defects.cc.
#include "ops/nn/conv_onednn.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/nn/conv_loops.h"
#include "ops/nn/float_copy.h"
#include "ops/onednn/guards.h"
#include "ops/onednn/pack_at_once.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::ops {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoll(value);
}

class Sample {
 public:
  explicit Sample(int64_t seed) : engine_(static_cast<uint64_t>(seed)) {}
  int64_t Of(std::initializer_list<int64_t> values) {
    return values.begin()[engine_() % values.size()];
  }
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n));
  }
  // Sums of a few hundred products of these are exact in float32.
  float Value() { return static_cast<float>(Below(9) - 4); }

  ConvGeometry Geometry() {
    ConvGeometry g;
    g.format.channels_last = true;
    g.format.dims = Below(4) == 0 ? 3 : 2;
    g.batch = Of({1, 1, 2, 3, 5});
    g.groups = Of({1, 1, 1, 2, 3, 8});
    const bool depthwise = g.groups > 1 && Below(2) == 0;
    const auto per_group = [&] {
      return depthwise      ? 1
             : g.groups > 1 ? Of({1, 2, 3, 5, 8, 9})
                            : Of({1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 24, 33, 130});
    };
    g.in_channels = per_group() * g.groups;
    g.out_channels = per_group() * g.groups;
    const bool square = Below(2) == 0;
    for (int d = 0; d < g.dims(); ++d) {
      Window& w = g.window;
      w.kernel[d] = Of({1, 1, 2, 3, 3, 4, 5, 6, 7});
      w.stride[d] = Of({1, 1, 2, 2, 3, 4});
      w.dilation[d] = Of({1, 1, 1, 2, 3});
      if (d > 0 && square) {
        w.kernel[d] = w.kernel[0];
        w.stride[d] = w.stride[0];
      }
      if (g.dims() == 3) w.kernel[d] = std::min<int64_t>(w.kernel[d], 4);
      if (Below(2) == 0) {
        w.pad_before[d] = Below(std::min<int64_t>(w.Extent(d) + 1, 6));
        w.pad_after[d] = Below(2) == 0 ? w.pad_before[d] : Below(4);
      }
      const int64_t least = w.Extent(d) - w.pad_before[d] - w.pad_after[d];
      SetSizes(g, d,
               std::max<int64_t>(1, least) + Below(g.dims() == 3 ? 7 : 24));
    }
    return g;
  }

  // Of a line: one spatial dim counts, of several that there are.
  ConvGeometry Line() {
    ConvGeometry g;
    g.format.channels_last = true;
    g.format.dims = static_cast<int>(Of({2, 2, 3}));
    g.batch = Of({1, 2, 3});
    g.in_channels = Of({16, 17, 33, 64});
    g.out_channels = Of({16, 17, 64, 65, 130});
    const int d = static_cast<int>(Below(g.dims()));
    Window& w = g.window;
    w.kernel[d] = Of({2, 3, 5, 8});
    w.stride[d] = Of({1, 1, 2, 3});
    w.dilation[d] = Of({1, 1, 2, 40});
    // Some taps see nothing but padding, at times.
    w.pad_before[d] = Of({0, 1, w.Extent(d) / 2, w.Extent(d) + 3});
    w.pad_after[d] = Of({0, 1, w.Extent(d) / 2, w.Extent(d) + 3});
    SetSizes(g, d, w.Extent(d) + Below(200));
    return g;
  }

  // Of a plane with taps far apart, of groups or not.
  ConvGeometry Dilated() {
    ConvGeometry g;
    g.format.channels_last = true;
    g.format.dims = 2;
    g.batch = Of({1, 2});
    const bool depthwise = Below(4) == 0;
    g.in_channels = Of({3, 8, 16, 17, 32, 33, 64});
    g.out_channels = depthwise ? g.in_channels : Of({4, 16, 17, 32, 65});
    g.groups = depthwise ? g.in_channels : 1;
    const int64_t kernel = Of({2, 3, 3, 3, 5}), stride = Of({1, 1, 2, 3});
    const int64_t dilation = Of({2, 4, 6, 8, 12, 18, 24, 36, 40});
    for (int d = 0; d < g.dims(); ++d) {
      Window& w = g.window;
      w.kernel[d] = kernel;
      w.dilation[d] = dilation;
      w.stride[d] = stride;
      w.pad_before[d] = Of({0, 1, dilation, w.Extent(d) / 2});
      w.pad_after[d] = Below(3) == 0 ? Of({0, 1}) : w.pad_before[d];
      SetSizes(g, d, 1 + Below(50));
    }
    return g;
  }

  // Of channels by themselves: around the numbers of them that are computed
  // together, of images around the size of a tile.
  ConvGeometry Depthwise() {
    ConvGeometry g;
    g.format.channels_last = true;
    g.format.dims = static_cast<int>(Of({2, 2, 2, 3}));
    g.batch = Of({1, 2, 3, 7});
    g.groups =
        Of({2, 3, 4, 7, 8, 13, 16, 24, 31, 32, 63, 64, 65, 72, 112, 140});
    g.in_channels = g.out_channels = g.groups;
    for (int d = 0; d < g.dims(); ++d) {
      Window& w = g.window;
      w.kernel[d] = Of({1, 2, 3, 3, 4, 5, 5, 7, 9});
      w.dilation[d] = Of({1, 1, 1, 2, 3});
      w.stride[d] = Of({1, 1, 2, 3, 5});
      w.pad_before[d] = Of({0, 1, w.Extent(d) / 2, w.Extent(d) + 2});
      w.pad_after[d] = Of({0, 1, w.Extent(d) / 2, w.Extent(d) + 2});
      SetSizes(g, d, 1 + Below(g.dims() == 3 ? 9 : 40));
    }
    return g;
  }

  // Of kernels larger than the image, of strides larger than the kernel, of
  // padding that holds whole windows.
  ConvGeometry Odd() {
    ConvGeometry g;
    g.format.channels_last = true;
    g.format.dims = static_cast<int>(Of({2, 3, 3}));
    g.batch = Of({1, 2, 3});
    g.groups = Of({1, 1, 1, 2, 3});
    g.in_channels = Of({1, 2, 3, 16, 33}) * g.groups;
    g.out_channels = Of({1, 2, 3, 16, 33}) * g.groups;
    for (int d = 0; d < g.dims(); ++d) {
      Window& w = g.window;
      w.kernel[d] = Of({1, 2, 3, 3, 4, 5, 7, 9, 11, 16});
      if (g.dims() == 3) w.kernel[d] = std::min<int64_t>(w.kernel[d], 9);
      if (Below(40) == 0) w.kernel[d] = 65;
      w.dilation[d] = Of({1, 1, 1, 2, 3});
      w.stride[d] = Of({1, 2, 3, 5, 16});
      const int64_t in = Of({1, 2, 3, 4, 7, 14, 21});
      const int64_t padding =
          std::max<int64_t>(0, w.Extent(d) - in + Of({0, 0, 1, 3, 17}));
      w.pad_before[d] = Below(2) == 0 ? padding / 2 : Below(padding + 1);
      w.pad_after[d] = padding - w.pad_before[d];
      if (Below(3) == 0) w.pad_after[d] += Below(6);
      SetSizes(g, d, in);
    }
    return g;
  }

  // Of many channels and few pixels: the weight is larger than the images.
  ConvGeometry Deep() {
    ConvGeometry g;
    g.format.channels_last = true;
    g.format.dims = static_cast<int>(Of({2, 2, 3}));
    g.batch = Of({1, 1, 2, 3});
    g.in_channels = Of({17, 32, 64, 100});
    g.out_channels = Of({96, 128, 128, 160, 192, 200, 256, 320});
    for (int d = 0; d < g.dims(); ++d) {
      Window& w = g.window;
      w.kernel[d] = g.dims() == 3 ? Of({1, 2, 3}) : Of({1, 3, 3, 5});
      w.stride[d] = Of({1, 1, 2});
      w.dilation[d] = Of({1, 1, 1, 2});
      w.pad_before[d] = w.pad_after[d] = Of({0, w.Extent(d) / 2});
      SetSizes(g, d, 1 + Below(g.dims() == 3 ? 5 : 12));
    }
    return g;
  }

  // Of channels that fill tiles of AMX, or nearly; their outputs too, for the
  // gradient of the input.
  ConvGeometry Tiles() {
    ConvGeometry g;
    g.format.channels_last = true;
    g.format.dims = static_cast<int>(Of({2, 2, 2, 3}));
    g.batch = Of({1, 1, 2, 5});
    g.in_channels = Of({32, 64, 64, 96, 48});
    g.out_channels = Of({16, 17, 32, 40, 64, 96, 100});
    for (int d = 0; d < g.dims(); ++d) {
      Window& w = g.window;
      w.kernel[d] = g.dims() == 3 ? Of({1, 2, 3}) : Of({1, 1, 2, 3, 3, 5});
      w.stride[d] = Of({1, 1, 2, 3, 4});
      w.dilation[d] = Of({1, 1, 1, 2, 3});
      w.pad_before[d] = Of({0, 1, w.Extent(d) / 2, w.Extent(d) + 2});
      w.pad_after[d] = Of({0, 1, w.Extent(d) / 2, w.Extent(d) + 2});
      SetSizes(g, d, 1 + Below(g.dims() == 3 ? 8 : 40));
    }
    return g;
  }

  Tensor Filled(const Shape& shape) {
    const Tensor t = Tensor::Empty(shape, DType::kFloat32);
    std::generate_n(t.data<float>(), t.numel(), [&] { return Value(); });
    return t;
  }

 private:
  // `in`, or as much as a window needs, and the outputs that it gives.
  static void SetSizes(ConvGeometry& g, int d, int64_t in) {
    const Window& w = g.window;
    const int64_t padding = w.pad_before[d] + w.pad_after[d];
    g.in[d] = std::max(in, w.Extent(d) - padding);
    g.out[d] = (g.in[d] + padding - w.Extent(d)) / w.stride[d] + 1;
  }

  std::mt19937_64 engine_;
};

std::string Text(const ConvGeometry& g) {
  std::string s = "batch " + std::to_string(g.batch) + " channels " +
                  std::to_string(g.in_channels) + " to " +
                  std::to_string(g.out_channels) + " groups " +
                  std::to_string(g.groups);
  for (int d = 0; d < g.dims(); ++d) {
    const Window& w = g.window;
    s += " | in " + std::to_string(g.in[d]) + " kernel " +
         std::to_string(w.kernel[d]) + " stride " +
         std::to_string(w.stride[d]) + " dilation " +
         std::to_string(w.dilation[d]) + " pads " +
         std::to_string(w.pad_before[d]) + " " + std::to_string(w.pad_after[d]);
  }
  return s;
}

std::vector<double> Wide(const Tensor& t) {
  return {t.data<float>(), t.data<float>() + t.numel()};
}

void ExpectNear(const char* what, const Tensor& result,
                const std::vector<double>& expected) {
  // Results of bfloat16 are rounded once.
  const double rounding = result.dtype() == DType::kBFloat16 ? 1.0 / 256 : 1e-5;
  const Tensor got = FloatCopy(result, DType::kFloat32);
  for (int64_t i = 0; i < got.numel(); ++i) {
    const double want = expected[static_cast<size_t>(i)];
    ASSERT_NEAR(got.data<float>()[i], want, 1e-2 + rounding * std::abs(want))
        << what << " at " << i;
  }
}

// Each of the three against the loops; counts those that oneDNN computes. The
// weight predicts, so that it is kept in the order that is best for it.
void Check(Sample& sample, const ConvGeometry& g, DType dtype,
           int64_t& computed) {
  // Of numbers that bfloat16 holds.
  const Tensor exact_x = sample.Filled(g.InputShape());
  const Tensor exact_w = sample.Filled(g.WeightShape());
  const Tensor exact_y = sample.Filled(g.OutputShape());
  const Tensor exact_bias = sample.Filled({g.out_channels});
  const Tensor x = FloatCopy(exact_x, dtype), w = FloatCopy(exact_w, dtype);
  const Tensor y = FloatCopy(exact_y, dtype);
  const Tensor bias = FloatCopy(exact_bias, dtype);
  onednn::PackAtOnce(w);
  std::vector<double> wx = Wide(exact_x), ww = Wide(exact_w),
                      wy = Wide(exact_y), expected(wy.size());
  const Tensor out = Tensor::Empty(y.shape(), dtype);
  // Where oneDNN has no kernel, on this machine, the loops are what is used.
  if (ConvOneDnn(g, {x, w, bias, out})) {
    ++computed;
    ConvLoops<double>(g, wx.data(), ww.data(), Wide(exact_bias).data(),
                      expected.data());
    ExpectNear("the result", out, expected);
  }
  const Tensor x_grad = Tensor::Empty(x.shape(), dtype);
  if (ConvInputGradOneDnn(g, {x_grad, w, Tensor(), y})) {
    ++computed;
    expected.resize(wx.size());
    ConvInputGradLoops<double>(g, expected.data(), ww.data(), wy.data());
    ExpectNear("the gradient of x", x_grad, expected);
  }
  const Tensor w_grad = Tensor::Empty(w.shape(), dtype);
  if (!ConvWeightGradOneDnn(g, {x, w_grad, Tensor(), y})) return;
  ++computed;
  expected.resize(ww.size());
  ConvWeightGradLoops<double>(g, wx.data(), expected.data(), wy.data());
  ExpectNear("the gradient of the weight", w_grad, expected);
}

// What the loops compute in milliseconds.
bool IsSmall(const ConvGeometry& g) {
  const auto pixels = static_cast<double>(g.batch * g.out_pixels());
  return pixels * static_cast<double>(g.WeightShape().numel()) < 4e7 &&
         g.InputShape().numel() < 2'000'000;
}

void CheckSample(ConvGeometry (Sample::*draw)(), DType dtype, int64_t count) {
  onednn::SetGuards(true);
  count = FromEnvironment("PROA_GEOMETRIES", count);
  const int64_t seed = FromEnvironment("PROA_GEOMETRY_SEED", 0);
  const bool say = FromEnvironment("PROA_GEOMETRIES_SAID", 0) != 0;
  int64_t small = 0, computed = 0;
  for (int64_t i = 0; i < count; ++i) {
    Sample sample(seed * 1'000'003 + i);
    const ConvGeometry g = (sample.*draw)();
    if (!IsSmall(g)) continue;
    ++small;
    const std::string text = "case " + std::to_string(i) + ": " + Text(g);
    SCOPED_TRACE(text);
    if (say) std::fprintf(stderr, "%s\n", text.c_str());
    Check(sample, g, dtype, computed);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(small, count / 2);
  if (dtype == DType::kFloat32) {
    EXPECT_GT(computed, small * 3 / 2);  // of three for each
  }
  onednn::SetGuards(false);
}

class ConvOneDnn : public testing::TestWithParam<DType> {};

TEST_P(ConvOneDnn, SampleOfGeometries) {
  CheckSample(&Sample::Geometry, GetParam(), 150);
}

TEST_P(ConvOneDnn, SampleOfLines) {
  CheckSample(&Sample::Line, GetParam(), 60);
}

TEST_P(ConvOneDnn, SampleOfDilatedPlanes) {
  CheckSample(&Sample::Dilated, GetParam(), 60);
}

TEST_P(ConvOneDnn, SampleOfDeepOnes) {
  CheckSample(&Sample::Deep, GetParam(), 100);
}

TEST_P(ConvOneDnn, SampleOfDepthwiseOnes) {
  CheckSample(&Sample::Depthwise, GetParam(), 150);
}

TEST_P(ConvOneDnn, SampleOfTiles) {
  CheckSample(&Sample::Tiles, GetParam(), 150);
}

TEST_P(ConvOneDnn, SampleOfOddOnes) {
  CheckSample(&Sample::Odd, GetParam(), 150);
}

INSTANTIATE_TEST_SUITE_P(DTypes, ConvOneDnn,
                         testing::Values(DType::kFloat32, DType::kBFloat16),
                         [](const auto& info) {
                           return std::string(Name(info.param));
                         });

}  // namespace
}  // namespace proa::ops
