// The loops of each instruction set of this machine against sums in double, and
// whether it matters where the rows are cut.
#include "ops/nn/few_channels_loops.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/kernel.h"

namespace proa::ops {
namespace {

class Sample {
 public:
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n));
  }
  std::vector<float> Values(int64_t n) {
    std::vector<float> out(static_cast<size_t>(n));
    for (float& v : out) v = static_cast<float>(Below(2001) - 1000) / 1000;
    return out;
  }
  ConvGeometry Geometry() {
    ConvGeometry g;
    g.format.channels_last = true;
    g.format.dims = 2;
    g.batch = 1 + Below(3);
    g.in_channels = 1 + Below(20);
    g.out_channels = 1 + Below(kMostFewChannels);
    for (int d = 0; d < 2; ++d) {
      Window& w = g.window;
      w.kernel[d] = 1 + Below(6);
      w.dilation[d] = 1 + Below(2);
      w.pad_before[d] = Below(4);
      w.pad_after[d] = Below(4);
      g.in[d] = w.Extent(d) + Below(d == 0 ? 30 : 50);
      g.out[d] = g.in[d] + w.pad_before[d] + w.pad_after[d] - w.Extent(d) + 1;
    }
    return g;
  }

 private:
  std::mt19937 engine_{7};
};

std::vector<double> Sums(const ConvGeometry& g, const std::vector<float>& x,
                         const std::vector<float>& weight,
                         const std::vector<float>& bias) {
  const Window& w = g.window;
  std::vector<double> out;
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t i = 0; i < g.out[0]; ++i)
      for (int64_t j = 0; j < g.out[1]; ++j)
        for (int64_t o = 0; o < g.out_channels; ++o) {
          double sum = bias[o];
          for (int64_t c = 0; c < g.in_channels; ++c)
            for (int64_t t = 0; t < g.taps(); ++t) {
              const int64_t p = t / w.kernel[1], q = t % w.kernel[1];
              const int64_t r = i + p * w.dilation[0] - w.pad_before[0];
              const int64_t s = j + q * w.dilation[1] - w.pad_before[1];
              if (r < 0 || s < 0 || r >= g.in[0] || s >= g.in[1]) continue;
              const int64_t pixel = (n * g.in[0] + r) * g.in[1] + s;
              sum += double{x[pixel * g.in_channels + c]} *
                     weight[(c * g.taps() + t) * g.out_channels + o];
            }
          out.push_back(sum);
        }
  return out;
}

using LoopFor = FewChannelsLoop (*)(int64_t);

void ExpectSums(Isa isa, LoopFor loop_for) {
  if (MachineIsa() < isa) return;
  constexpr float kBehind = 777;
  Sample sample;
  for (int k = 0; k < 150; ++k) {
    const ConvGeometry g = sample.Geometry();
    const auto x = sample.Values(g.batch * g.in_pixels() * g.in_channels);
    const auto weight =
        sample.Values(g.in_channels * g.taps() * g.out_channels);
    const auto bias = sample.Values(g.out_channels);
    const auto want = Sums(g, x, weight, bias);
    const FewChannelsLoop loop = loop_for(g.out_channels);
    const int64_t rows = g.batch * g.out[0], cut = sample.Below(rows + 1);
    // One more, which is to stay as it is.
    std::vector<float> whole(want.size() + 1, kBehind), cut_up = whole;
    loop(g, x.data(), weight.data(), bias.data(), whole.data(), 0, rows);
    loop(g, x.data(), weight.data(), bias.data(), cut_up.data(), cut, rows);
    loop(g, x.data(), weight.data(), bias.data(), cut_up.data(), 0, cut);
    ASSERT_EQ(whole, cut_up) << "geometry " << k;
    ASSERT_EQ(whole.back(), kBehind);
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(whole[i], want[i], 2e-4) << "geometry " << k << ", " << i;
  }
}

TEST(FewChannelsLoops, GiveTheSums) {
  ExpectSums(Isa::kBaseline, sse2::FewChannelsLoopFor);
  ExpectSums(Isa::kAvx2, avx2::FewChannelsLoopFor);
  ExpectSums(Isa::kAvx512, avx512::FewChannelsLoopFor);
}

TEST(FewChannelsLoops, ThereIsOneForWhatIsFew) {
  EXPECT_EQ(sse2::FewChannels(), 1);
  EXPECT_LE(avx512::FewChannels(), kMostFewChannels);
}

}  // namespace
}  // namespace proa::ops
