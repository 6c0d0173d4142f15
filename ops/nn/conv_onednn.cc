#include "ops/nn/conv_onednn.h"

#include <utility>

#include "oneapi/dnnl/dnnl.hpp"
#include "ops/nn/conv_problem.h"
#include "ops/nn/strided_pixels.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/packed_weights.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_cache.h"
#include "ops/onednn/threads.h"

namespace proa::inline v0::ops {
namespace {

using onednn::PackedWeights;
using onednn::PackFormat;
using onednn::Primitive;
using onednn::PrimitiveCache;
using onednn::PrimitiveKind;

Primitive MakeForward(const ConvGeometry& g, DType dtype, bool has_bias) {
  const auto pd = ForwardDesc(DescribeConv(g, dtype), has_bias);
  if (has_bias) {
    return Primitive::Of<dnnl::convolution_forward>(pd,
                                                    {{DNNL_ARG_SRC},
                                                     {DNNL_ARG_WEIGHTS},
                                                     {DNNL_ARG_BIAS},
                                                     {DNNL_ARG_DST, {}, true}});
  }
  return Primitive::Of<dnnl::convolution_forward>(
      pd, {{DNNL_ARG_SRC}, {DNNL_ARG_WEIGHTS}, {DNNL_ARG_DST, {}, true}});
}

Primitive MakeInputGrad(const ConvGeometry& g, DType dtype) {
  const ConvProblem p = DescribeConv(g, dtype);
  const dnnl::convolution_backward_data::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, p.x, p.weight, p.y, p.stride,
       p.dilation, p.pad_before, p.pad_after},
      onednn::UserScratchpad(), onednn::Engine(), ForwardDesc(p, false));
  return Primitive::Of<dnnl::convolution_backward_data>(
      pd,
      {{DNNL_ARG_DIFF_DST}, {DNNL_ARG_WEIGHTS}, {DNNL_ARG_DIFF_SRC, {}, true}});
}

// Runs a forward convolution of `x` to `y`, which need not be those of `data`.
bool RunForward(const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                const PackFormat& read, const Tensor& bias, const Tensor& y) {
  const bool has_bias = bias.defined();
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      ConvKey(PrimitiveKind::kConvolution, g, x.dtype(), has_bias,
              onednn::NumThreads()),
      [&] { return MakeForward(g, x.dtype(), has_bias); });
  if (!primitive->supported()) return false;
  const PackedWeights packed(
      weight, {read.from, primitive->desc(DNNL_ARG_WEIGHTS), read.flip});
  if (has_bias) {
    primitive->Execute({{DNNL_ARG_SRC, x.raw_data()},
                        {DNNL_ARG_WEIGHTS, packed.data()},
                        {DNNL_ARG_BIAS, bias.raw_data()},
                        {DNNL_ARG_DST, y.raw_data()}});
  } else {
    primitive->Execute({{DNNL_ARG_SRC, x.raw_data()},
                        {DNNL_ARG_WEIGHTS, packed.data()},
                        {DNNL_ARG_DST, y.raw_data()}});
  }
  return true;
}

// The convolution that gives the input gradient of one of stride 1: with the
// taps of the weight turned round and its channels exchanged. False if its
// padding would be negative.
bool AdjointOf(const ConvGeometry& g, ConvGeometry* adjoint) {
  const Window& w = g.window;
  *adjoint = g;
  std::swap(adjoint->in_channels, adjoint->out_channels);
  for (int d = 0; d < g.dims(); ++d) {
    if (w.stride[d] != 1) return false;
    adjoint->in[d] = g.out[d];
    adjoint->out[d] = g.in[d];
    adjoint->window.pad_before[d] = w.Extent(d) - 1 - w.pad_before[d];
    adjoint->window.pad_after[d] = w.Extent(d) - 1 - w.pad_after[d];
    if (adjoint->window.pad_before[d] < 0 || adjoint->window.pad_after[d] < 0)
      return false;
  }
  return true;
}

}  // namespace

bool ConvOneDnn(const ConvGeometry& g, const ConvData& data) {
  if (IsStridedPointwise(g)) {
    const Tensor taken = TakePixels(g, data.x);
    return ConvOneDnn(OnTakenPixels(g),
                      {taken, data.weight, data.bias, data.y});
  }
  return RunForward(g, data.x, data.weight,
                    {ConvWeightDesc(g, data.x.dtype(), false), {}}, data.bias,
                    data.y);
}

bool ConvInputGradOneDnn(const ConvGeometry& g, const ConvData& data) {
  const DType dtype = data.y.dtype();
  if (IsStridedPointwise(g)) {
    const ConvGeometry taken = OnTakenPixels(g);
    const Tensor pixels = Tensor::Empty(taken.InputShape(), dtype);
    if (!ConvInputGradOneDnn(taken, {pixels, data.weight, data.bias, data.y}))
      return false;
    SpreadPixels(g, pixels, data.x);
    return true;
  }
  ConvGeometry adjoint;
  if (AdjointOf(g, &adjoint)) {
    const PackFormat read{
        ConvWeightDesc(g, dtype, /*transposed=*/true), {}, g.taps()};
    return RunForward(adjoint, data.y, data.weight, read, Tensor(), data.x);
  }
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      ConvKey(PrimitiveKind::kConvolutionInputGrad, g, dtype, false,
              onednn::NumThreads()),
      [&] { return MakeInputGrad(g, dtype); });
  if (!primitive->supported()) return false;
  const PackedWeights packed(data.weight, {ConvWeightDesc(g, dtype, false),
                                           primitive->desc(DNNL_ARG_WEIGHTS)});
  primitive->Execute({{DNNL_ARG_DIFF_DST, data.y.raw_data()},
                      {DNNL_ARG_WEIGHTS, packed.data()},
                      {DNNL_ARG_DIFF_SRC, data.x.raw_data()}});
  return true;
}

}  // namespace proa::inline v0::ops
