// The inner loops of a convolution that gives few channels, compiled for each
// instruction set. few_channels.cc shares the rows among threads.
#ifndef PROA_OPS_NN_FEW_CHANNELS_LOOPS_H_
#define PROA_OPS_NN_FEW_CHANNELS_LOOPS_H_

#include <cstdint>

#include "ops/nn/conv_geometry.h"

namespace proa::inline v0::ops {

// The most channels that there are loops for.
inline constexpr int64_t kMostFewChannels = 8;

// Rows [begin, end) of the output, counted through all images. Images lie
// channels-last and have two dims; the stride is 1. `weight` is [in channels,
// taps, out channels]; `bias` has one number for each output channel, or is
// null.
using FewChannelsLoop = void (*)(const ConvGeometry& g, const float* x,
                                 const float* weight, const float* bias,
                                 float* y, int64_t begin, int64_t end);

#define PROA_DECLARE_FEW_CHANNELS_LOOPS(isa)                \
  namespace isa {                                           \
  /* How many channels are fewer than vectors are for. */   \
  int64_t FewChannels();                                    \
  FewChannelsLoop FewChannelsLoopFor(int64_t out_channels); \
  }
PROA_DECLARE_FEW_CHANNELS_LOOPS(sse2)
PROA_DECLARE_FEW_CHANNELS_LOOPS(avx2)
PROA_DECLARE_FEW_CHANNELS_LOOPS(avx512)
#undef PROA_DECLARE_FEW_CHANNELS_LOOPS

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_FEW_CHANNELS_LOOPS_H_
