// The inner loops of the weight gradient of a depthwise convolution, compiled
// for each instruction set. depthwise_weight_grad.cc shares parts of the pixels
// and of the channels among threads.
#ifndef PROA_OPS_NN_DEPTHWISE_LOOPS_H_
#define PROA_OPS_NN_DEPTHWISE_LOOPS_H_

#include <cstdint>
#include <vector>

#include "ops/nn/weight_grad_parts.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

// One spatial dim: output i sees position i * stride + shift[q] through tap q,
// and that is in the input for the outputs inside[q].
struct DepthwiseDim {
  int64_t in, out, stride;
  std::vector<int64_t> shift;
  std::vector<PartRange> inside;
  int64_t taps() const { return static_cast<int64_t>(shift.size()); }
};

// Of images [n, d, h, w, channels] with as many channels in as out.
struct DepthwiseShape {
  int64_t channels;
  DepthwiseDim dims[kMostSpatialDims];
};

// What is summed up: outputs of some images, of some channels.
struct DepthwisePart {
  PartRange images, outputs[kMostSpatialDims], channels;
};

// sums[tap * part.channels.size() + c] = the sum over the part's outputs of y
// times what the tap sees of x. The same bits from each instruction set.
using DepthwiseWeightGradLoop = void (*)(const DepthwiseShape& shape,
                                         const DepthwisePart& part,
                                         const void* x, const void* y,
                                         float* sums);

// For x and y of float32 or bfloat16.
#define PROA_DECLARE_DEPTHWISE_LOOPS(isa)                          \
  namespace isa {                                                  \
  DepthwiseWeightGradLoop DepthwiseWeightGradLoopFor(DType dtype); \
  }
PROA_DECLARE_DEPTHWISE_LOOPS(sse2)
PROA_DECLARE_DEPTHWISE_LOOPS(avx2)
PROA_DECLARE_DEPTHWISE_LOOPS(avx512)
#undef PROA_DECLARE_DEPTHWISE_LOOPS

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_DEPTHWISE_LOOPS_H_
