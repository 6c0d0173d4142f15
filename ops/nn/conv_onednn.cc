#include "ops/nn/conv_onednn.h"

#include "oneapi/dnnl/dnnl.hpp"
#include "ops/onednn/descriptor.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/packed_weights.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_cache.h"
#include "ops/onednn/threads.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

using dnnl::memory;
using onednn::PackedWeights;
using onednn::PackFormat;
using onednn::Primitive;
using onednn::PrimitiveCache;
using onednn::PrimitiveKey;
using onednn::PrimitiveKind;
using tag = memory::format_tag;

PrimitiveKey KeyOf(PrimitiveKind kind, const ConvGeometry& g, DType dtype,
                   bool has_bias, int threads = onednn::NumThreads()) {
  PrimitiveKey key(kind);
  key.Add(dtype);
  key.Add(int64_t{threads});
  key.Add(int64_t{has_bias});
  for (int64_t v : {g.batch, g.in_channels, g.out_channels, g.groups})
    key.Add(v);
  for (int d = 0; d < 2; ++d) {
    const Window& w = g.window;
    for (int64_t v : {g.in[d], g.out[d], w.kernel[d], w.stride[d],
                      w.dilation[d], w.pad_before[d], w.pad_after[d]})
      key.Add(v);
  }
  return key;
}

// The contiguous weight as oneDNN reads it. `transposed`: with the channels in
// and out exchanged.
memory::desc WeightDesc(const ConvGeometry& g, DType dtype, bool transposed) {
  const int64_t o = g.out_channels_per_group(), i = g.in_channels_per_group();
  const int64_t kh = g.window.kernel[0], kw = g.window.kernel[1];
  memory::dims dims{g.groups, o, i, kh, kw};
  memory::dims strides{o * i * kh * kw, i * kh * kw, kh * kw, kw, 1};
  if (transposed) {
    std::swap(dims[1], dims[2]);
    std::swap(strides[1], strides[2]);
  }
  if (g.groups == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  return memory::desc(dims, onednn::DataType(dtype), strides);
}

// A convolution in oneDNN's words.
struct Problem {
  memory::desc x, weight, bias, y;
  memory::dims stride, dilation, pad_before, pad_after;
};

Problem Describe(const ConvGeometry& g, DType dtype) {
  const auto t = onednn::DataType(dtype);
  const Window& w = g.window;
  memory::dims weight{g.out_channels_per_group(), g.in_channels_per_group(),
                      w.kernel[0], w.kernel[1]};
  if (g.groups > 1) weight.insert(weight.begin(), g.groups);
  Problem p;
  p.x = {{g.batch, g.in_channels, g.in[0], g.in[1]}, t, tag::nhwc};
  p.y = {{g.batch, g.out_channels, g.out[0], g.out[1]}, t, tag::nhwc};
  p.weight = {weight, t, tag::any};
  p.bias = {{g.out_channels}, t, tag::x};
  p.stride = {w.stride[0], w.stride[1]};
  p.dilation = {w.dilation[0] - 1, w.dilation[1] - 1};
  p.pad_before = {w.pad_before[0], w.pad_before[1]};
  p.pad_after = {w.pad_after[0], w.pad_after[1]};
  return p;
}

dnnl::convolution_forward::primitive_desc ForwardDesc(const Problem& p,
                                                      bool has_bias) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto attr = onednn::UserScratchpad();
  if (has_bias) {
    return {{kind, algorithm, p.x, p.weight, p.bias, p.y, p.stride, p.dilation,
             p.pad_before, p.pad_after},
            attr,
            onednn::Engine()};
  }
  return {{kind, algorithm, p.x, p.weight, p.y, p.stride, p.dilation,
           p.pad_before, p.pad_after},
          attr,
          onednn::Engine()};
}

Primitive MakeForward(const ConvGeometry& g, DType dtype, bool has_bias) {
  const auto pd = ForwardDesc(Describe(g, dtype), has_bias);
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
  const Problem p = Describe(g, dtype);
  const dnnl::convolution_backward_data::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, p.x, p.weight, p.y, p.stride,
       p.dilation, p.pad_before, p.pad_after},
      onednn::UserScratchpad(), onednn::Engine(), ForwardDesc(p, false));
  return Primitive::Of<dnnl::convolution_backward_data>(
      pd,
      {{DNNL_ARG_DIFF_DST}, {DNNL_ARG_WEIGHTS}, {DNNL_ARG_DIFF_SRC, {}, true}});
}

Primitive MakeWeightGrad(const ConvGeometry& g, DType dtype) {
  const Problem p = Describe(g, dtype);
  const dnnl::convolution_backward_weights::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, p.x, p.weight, p.y, p.stride,
       p.dilation, p.pad_before, p.pad_after},
      onednn::UserScratchpad(), onednn::Engine(), ForwardDesc(p, false));
  return Primitive::Of<dnnl::convolution_backward_weights>(
      pd, {{DNNL_ARG_SRC},
           {DNNL_ARG_DIFF_DST},
           {DNNL_ARG_DIFF_WEIGHTS, WeightDesc(g, dtype, false), true}});
}

// Runs a forward convolution of `x` to `y`, which need not be those of `data`.
bool RunForward(const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                const PackFormat& read, const Tensor& bias, const Tensor& y) {
  const bool has_bias = bias.defined();
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      KeyOf(PrimitiveKind::kConvolution, g, x.dtype(), has_bias),
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
  for (int d = 0; d < 2; ++d) {
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

bool IsPointwise(const ConvGeometry& g) {
  const Window& w = g.window;
  return w.kernel[0] == 1 && w.kernel[1] == 1 && w.stride[0] == 1 &&
         w.stride[1] == 1 && w.pad_before[0] == 0 && w.pad_before[1] == 0 &&
         w.pad_after[0] == 0 && w.pad_after[1] == 0;
}

// weight[o, i] = sum over pixels of y[pixel, o] * x[pixel, i]
void PointwiseWeightGrad(const ConvGeometry& g, const ConvData& data) {
  const auto status = dnnl::sgemm(
      'T', 'N', g.out_channels, g.in_channels, g.batch * g.in[0] * g.in[1], 1.f,
      data.y.data<float>(), g.out_channels, data.x.data<float>(), g.in_channels,
      0.f, data.weight.data<float>(), g.in_channels);
  PROA_REQUIRE(status == dnnl::status::success,
               "conv2d_weight_grad: oneDNN's sgemm failed");
}

}  // namespace

bool ConvOneDnn(const ConvGeometry& g, const ConvData& data) {
  return RunForward(g, data.x, data.weight,
                    {WeightDesc(g, data.x.dtype(), false), {}}, data.bias,
                    data.y);
}

bool ConvInputGradOneDnn(const ConvGeometry& g, const ConvData& data) {
  const DType dtype = data.y.dtype();
  ConvGeometry adjoint;
  if (AdjointOf(g, &adjoint)) {
    const PackFormat read{WeightDesc(g, dtype, /*transposed=*/true),
                          {},
                          g.window.kernel[0] * g.window.kernel[1]};
    return RunForward(adjoint, data.y, data.weight, read, Tensor(), data.x);
  }
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      KeyOf(PrimitiveKind::kConvolutionInputGrad, g, dtype, false),
      [&] { return MakeInputGrad(g, dtype); });
  if (!primitive->supported()) return false;
  const PackedWeights packed(data.weight, {WeightDesc(g, dtype, false),
                                           primitive->desc(DNNL_ARG_WEIGHTS)});
  primitive->Execute({{DNNL_ARG_DIFF_DST, data.y.raw_data()},
                      {DNNL_ARG_WEIGHTS, packed.data()},
                      {DNNL_ARG_DIFF_SRC, data.x.raw_data()}});
  return true;
}

bool ConvWeightGradOneDnn(const ConvGeometry& g, const ConvData& data) {
  const DType dtype = data.x.dtype();
  // Threads share the images of the batch and then add up: their number shows
  // in the last bits.
  const onednn::FixedThreadsScope scope(
      g.OutputShape().numel() * g.in_channels_per_group() * g.window.kernel[0] *
      g.window.kernel[1]);
  if (IsPointwise(g) && g.groups == 1 && dtype == DType::kFloat32) {
    PointwiseWeightGrad(g, data);
    return true;
  }
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      KeyOf(PrimitiveKind::kConvolutionWeightGrad, g, dtype, false,
            scope.threads()),
      [&] { return MakeWeightGrad(g, dtype); });
  if (!primitive->supported()) return false;
  primitive->Execute({{DNNL_ARG_SRC, data.x.raw_data()},
                      {DNNL_ARG_DIFF_DST, data.y.raw_data()},
                      {DNNL_ARG_DIFF_WEIGHTS, data.weight.raw_data()}});
  return true;
}

}  // namespace proa::inline v0::ops
