#include "ops/nn/few_channels.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/for_machine.h"
#include "ops/nn/few_channels_loops.h"
#include "tensor/denormals.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

// A weight as the loops read it.
std::vector<float> Packed(const ConvGeometry& g, const float* weight,
                          bool adjoint) {
  const int64_t in = g.in_channels, out = g.out_channels, taps = g.taps();
  std::vector<float> packed(in * taps * out);
  float* to = packed.data();
  for (int64_t c = 0; c < in; ++c) {
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t o = 0; o < out; ++o) {
        *to++ = adjoint ? weight[(c * out + o) * taps + taps - 1 - t]
                        : weight[(o * in + c) * taps + t];
      }
    }
  }
  return packed;
}

// Asked at load (tensor/fork_locks.h says why).
const int64_t few_channels =
    ForMachine(sse2::FewChannels, avx2::FewChannels, avx512::FewChannels)();

}  // namespace

bool SuitsFewChannels(const ConvGeometry& g, DType dtype) {
  // Of an image that is laid out channel by channel, some rows should stay in
  // the second cache.
  constexpr int64_t kMostFloats = 128 << 10, kRows = 8, kLeastColumns = 8;
  const Window& w = g.window;
  return dtype == DType::kFloat32 && g.dims() == 2 && g.groups == 1 &&
         g.out_channels <= few_channels && g.taps() > 1 && w.stride[0] == 1 &&
         w.stride[1] == 1 && g.out[1] >= kLeastColumns &&
         g.in_channels * (g.out[1] + w.Extent(1)) * (kRows + w.Extent(0)) <=
             kMostFloats;
}

void ConvToFewChannels(const ConvGeometry& g, const Tensor& x,
                       const Tensor& weight, bool adjoint, const Tensor& bias,
                       const Tensor& y) {
  constexpr int64_t kWork = 1 << 19;  // multiply-adds that are worth a thread
  const std::vector<float> packed = Packed(g, weight.data<float>(), adjoint);
  const float* const b = bias.defined() ? bias.data<float>() : nullptr;
  const FewChannelsLoop loop =
      ForMachine(sse2::FewChannelsLoopFor, avx2::FewChannelsLoopFor,
                 avx512::FewChannelsLoopFor)(g.out_channels);
  const int64_t row = g.out[1] * static_cast<int64_t>(packed.size());
  parallel_for(0, g.batch * g.out[0], std::max<int64_t>(1, kWork / row),
               [&](int64_t begin, int64_t end) {
                 const NoDenormalsScope none;  // as oneDNN's
                 loop(g, x.data<float>(), packed.data(), b, y.data<float>(),
                      begin, end);
               });
}

}  // namespace proa::inline v0::ops
