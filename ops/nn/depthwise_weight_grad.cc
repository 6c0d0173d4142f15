#include "ops/nn/depthwise_weight_grad.h"

#include "ops/for_machine.h"
#include "ops/nn/depthwise_loops.h"
#include "ops/nn/weight_grad_parts.h"
#include "ops/nn/weight_grad_sums.h"
#include "tensor/denormals.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

DepthwiseDim DimOf(const ConvGeometry& g, int d) {
  const Window& w = g.window;
  DepthwiseDim dim = {g.in[d], g.out[d], w.stride[d], {}, {}};
  for (int64_t q = 0; q < w.kernel[d]; ++q) {
    dim.shift.push_back(q * w.dilation[d] - w.pad_before[d]);
    dim.inside.push_back(InsideOfTap(g, d, q));
  }
  return dim;
}

// The last dims of three: those in front have one element.
DepthwiseShape ShapeOf(const ConvGeometry& g) {
  DepthwiseShape s;
  s.channels = g.out_channels;
  const int missing = kMostSpatialDims - g.dims();
  for (int d = 0; d < kMostSpatialDims; ++d)
    s.dims[d] = d < missing ? DepthwiseDim{1, 1, 1, {0}, {{0, 1}}}
                            : DimOf(g, d - missing);
  return s;
}

DepthwisePart PartOf(const ConvGeometry& g, const DepthwiseShape& s,
                     const WeightGradPart& part) {
  DepthwisePart p;
  p.images = part.images;
  p.channels = part.channels;
  for (int d = 0; d < kMostSpatialDims; ++d) p.outputs[d] = {0, s.dims[d].out};
  p.outputs[kMostSpatialDims - g.dims()] = part.rows;
  return p;
}

}  // namespace

bool IsDepthwise(const ConvGeometry& g) {
  return g.groups > 1 && g.groups == g.in_channels &&
         g.groups == g.out_channels;
}

bool OneDnnMayHaveDepthwise(const ConvGeometry& g) {
  const Window& w = g.window;
  return g.dims() == 2 && w.kernel[1] <= 3 && w.dilation[0] == 1 &&
         w.dilation[1] == 1;
}

void DepthwiseWeightGrad(const ConvGeometry& g, const ConvData& data) {
  const WeightGradParts parts(g, WeightGradParts::Way::kChannelwise);
  const WeightGradSums sums(data.weight, parts.sums());
  const DepthwiseShape shape = ShapeOf(g);
  const int64_t taps = g.taps();
  const DepthwiseWeightGradLoop loop = ForMachine(
      sse2::DepthwiseWeightGradLoopFor, avx2::DepthwiseWeightGradLoopFor,
      avx512::DepthwiseWeightGradLoopFor)(data.x.dtype());
  parallel_for(0, parts.count(), 1, [&](int64_t begin, int64_t end) {
    const NoDenormalsScope none;  // as oneDNN's
    for (int64_t k = begin; k < end; ++k) {
      const DepthwisePart part = PartOf(g, shape, parts[k]);
      const int64_t channels = part.channels.size();
      const Tensor by_tap = Tensor::Empty({taps, channels}, DType::kFloat32);
      const float* from = by_tap.data<float>();
      loop(shape, part, data.x.raw_data(), data.y.raw_data(),
           by_tap.data<float>());
      float* to = sums[parts.sum_of(k)] + part.channels.begin * taps;
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t q = 0; q < taps; ++q) *to++ = from[q * channels + c];
    }
  });
  sums.AddUp();
}

}  // namespace proa::inline v0::ops
