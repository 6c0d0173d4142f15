// oneDNN's three convolutions against the loops in double, for a sample of
// geometries, with guarded buffers. PROA_GEOMETRIES says how many, and
// PROA_GEOMETRY_SEED which: a large sample of these runs under the address
// sanitizer too, which the Python tests (conv_geometry_test.py) are slow with.
#include "ops/nn/conv_onednn.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/nn/conv_loops.h"
#include "ops/onednn/guards.h"
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
      g.in[d] = std::max<int64_t>(1, least) + Below(g.dims() == 3 ? 7 : 24);
      g.out[d] = (g.in[d] + w.pad_before[d] + w.pad_after[d] - w.Extent(d)) /
                     w.stride[d] +
                 1;
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
    g.in[d] = w.Extent(d) + Below(200);
    g.out[d] = (g.in[d] + w.pad_before[d] + w.pad_after[d] - w.Extent(d)) /
                   w.stride[d] +
               1;
    return g;
  }

  Tensor Filled(const Shape& shape) {
    const Tensor t = Tensor::Empty(shape, DType::kFloat32);
    std::generate_n(t.data<float>(), t.numel(), [&] { return Value(); });
    return t;
  }

 private:
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

void ExpectNear(const char* what, const Tensor& got,
                const std::vector<double>& expected) {
  for (int64_t i = 0; i < got.numel(); ++i) {
    const double want = expected[static_cast<size_t>(i)];
    ASSERT_NEAR(got.data<float>()[i], want, 1e-2 + 1e-5 * std::abs(want))
        << what << " at " << i;
  }
}

// Each of the three against the loops; counts those that oneDNN computes.
void Check(Sample& sample, const ConvGeometry& g, int64_t& computed) {
  const Tensor x = sample.Filled(g.InputShape());
  const Tensor w = sample.Filled(g.WeightShape());
  const Tensor y = sample.Filled(g.OutputShape());
  const Tensor bias = sample.Filled({g.out_channels});
  std::vector<double> wx = Wide(x), ww = Wide(w), wy = Wide(y);
  const Tensor out = Tensor::Empty(y.shape(), DType::kFloat32);
  std::vector<double> expected(wy.size());
  ConvLoops<double>(g, wx.data(), ww.data(), Wide(bias).data(),
                    expected.data());
  // Where oneDNN has no kernel, on this machine, the loops are what is used.
  if (ConvOneDnn(g, {x, w, bias, out})) {
    ++computed;
    ExpectNear("the result", out, expected);
  }
  const Tensor x_grad = Tensor::Empty(x.shape(), DType::kFloat32);
  if (ConvInputGradOneDnn(g, {x_grad, w, Tensor(), y})) {
    ++computed;
    expected.resize(wx.size());
    ConvInputGradLoops<double>(g, expected.data(), ww.data(), wy.data());
    ExpectNear("the gradient of x", x_grad, expected);
  }
  const Tensor w_grad = Tensor::Empty(w.shape(), DType::kFloat32);
  if (!ConvWeightGradOneDnn(g, {x, w_grad, Tensor(), y})) return;
  ++computed;
  expected.resize(ww.size());
  ConvWeightGradLoops<double>(g, wx.data(), expected.data(), wy.data());
  ExpectNear("the gradient of the weight", w_grad, expected);
}

void CheckSample(ConvGeometry (Sample::*draw)(), int64_t count) {
  onednn::SetGuards(true);
  count = FromEnvironment("PROA_GEOMETRIES", count);
  const int64_t seed = FromEnvironment("PROA_GEOMETRY_SEED", 0);
  int64_t computed = 0;
  for (int64_t i = 0; i < count; ++i) {
    Sample sample(seed * 1'000'003 + i);
    const ConvGeometry g = (sample.*draw)();
    SCOPED_TRACE("case " + std::to_string(i) + ": " + Text(g));
    Check(sample, g, computed);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(computed, count * 3 / 2);  // of three for each
  onednn::SetGuards(false);
}

TEST(ConvOneDnn, SampleOfGeometries) { CheckSample(&Sample::Geometry, 150); }

TEST(ConvOneDnn, SampleOfLines) { CheckSample(&Sample::Line, 60); }

}  // namespace
}  // namespace proa::ops
