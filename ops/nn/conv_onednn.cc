#include "ops/nn/conv_onednn.h"

#include "ops/onednn/descriptor.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_cache.h"
#include "ops/onednn/threads.h"

namespace proa::inline v0::ops {
namespace {

using dnnl::memory;
using onednn::Parameter;
using onednn::Primitive;
using onednn::PrimitiveCache;
using onednn::PrimitiveKey;
using onednn::PrimitiveKind;
using tag = memory::format_tag;

PrimitiveKey KeyOf(PrimitiveKind kind, const ConvGeometry& g,
                   const ConvData& data, int threads = onednn::NumThreads()) {
  PrimitiveKey key(kind);
  key.Add(data.dtype);
  key.Add(int64_t{threads});
  key.Add(int64_t{g.channels_last} * 2 + (data.bias != nullptr));
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

// A convolution in oneDNN's words: `*_user` is how the caller's memory lies,
// the plain name what the primitive is asked to compute in.
struct Problem {
  memory::desc x_user, weight_user, bias, y_user;
  memory::desc x, weight, y;
  memory::dims stride, dilation, pad_before, pad_after;
};

memory::desc Desc(const memory::dims& dims, memory::data_type t, tag f) {
  return memory::desc(dims, t, f);
}

// `plain`: compute in the caller's layouts. oneDNN's blocked kernels are
// faster, but not by what the reorders cost where little is computed for each
// element.
Problem Describe(const ConvGeometry& g, const ConvData& data, bool plain) {
  const auto t = onednn::DataType(data.dtype);
  const memory::dims x{g.batch, g.in_channels, g.in[0], g.in[1]};
  const memory::dims y{g.batch, g.out_channels, g.out[0], g.out[1]};
  const Window& w = g.window;
  memory::dims weight{g.out_channels_per_group(), g.in_channels_per_group(),
                      w.kernel[0], w.kernel[1]};
  tag weight_tag = tag::oihw;
  if (g.groups > 1) {
    weight.insert(weight.begin(), g.groups);
    weight_tag = tag::goihw;
  }
  const tag user = g.channels_last ? tag::nhwc : tag::nchw;
  const tag image = g.channels_last || plain ? user : tag::any;
  Problem p;
  p.x_user = Desc(x, t, user);
  p.y_user = Desc(y, t, user);
  p.weight_user = Desc(weight, t, weight_tag);
  p.bias = Desc({g.out_channels}, t, tag::x);
  p.x = Desc(x, t, image);
  p.y = Desc(y, t, image);
  p.weight = Desc(weight, t, plain && !g.channels_last ? weight_tag : tag::any);
  p.stride = {w.stride[0], w.stride[1]};
  p.dilation = {w.dilation[0] - 1, w.dilation[1] - 1};
  p.pad_before = {w.pad_before[0], w.pad_before[1]};
  p.pad_after = {w.pad_after[0], w.pad_after[1]};
  return p;
}

bool IsPointwise(const ConvGeometry& g) {
  const Window& w = g.window;
  return w.kernel[0] == 1 && w.kernel[1] == 1 && w.stride[0] == 1 &&
         w.stride[1] == 1 && w.pad_before[0] == 0 && w.pad_before[1] == 0 &&
         w.pad_after[0] == 0 && w.pad_after[1] == 0;
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

Primitive MakeForward(const ConvGeometry& g, const ConvData& data) {
  const bool has_bias = data.bias != nullptr;
  const Problem p = Describe(g, data, IsPointwise(g));
  const auto pd = ForwardDesc(p, has_bias);
  const Parameter x{DNNL_ARG_SRC, p.x_user}, w{DNNL_ARG_WEIGHTS, p.weight_user},
      y{DNNL_ARG_DST, p.y_user, true};
  if (!has_bias) return Primitive::Of<dnnl::convolution_forward>(pd, {x, w, y});
  return Primitive::Of<dnnl::convolution_forward>(
      pd, {x, w, {DNNL_ARG_BIAS, p.bias}, y});
}

Primitive MakeInputGrad(const ConvGeometry& g, const ConvData& data) {
  // With few channels the blocked kernels mostly compute padding.
  const bool plain = IsPointwise(g) || (g.groups == 1 && g.in_channels < 4);
  const Problem p = Describe(g, data, plain);
  const dnnl::convolution_backward_data::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, p.x, p.weight, p.y, p.stride,
       p.dilation, p.pad_before, p.pad_after},
      onednn::UserScratchpad(), onednn::Engine(), ForwardDesc(p, false));
  return Primitive::Of<dnnl::convolution_backward_data>(
      pd, {{DNNL_ARG_DIFF_DST, p.y_user},
           {DNNL_ARG_WEIGHTS, p.weight_user},
           {DNNL_ARG_DIFF_SRC, p.x_user, true}});
}

Primitive MakeWeightGrad(const ConvGeometry& g, const ConvData& data) {
  const Problem p = Describe(g, data, IsPointwise(g));
  const dnnl::convolution_backward_weights::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, p.x, p.weight, p.y, p.stride,
       p.dilation, p.pad_before, p.pad_after},
      onednn::UserScratchpad(), onednn::Engine(), ForwardDesc(p, false));
  return Primitive::Of<dnnl::convolution_backward_weights>(
      pd, {{DNNL_ARG_SRC, p.x_user},
           {DNNL_ARG_DIFF_DST, p.y_user},
           {DNNL_ARG_DIFF_WEIGHTS, p.weight_user, true}});
}

}  // namespace

bool ConvOneDnn(const ConvGeometry& g, const ConvData& data) {
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      KeyOf(PrimitiveKind::kConvolution, g, data),
      [&] { return MakeForward(g, data); });
  if (!primitive->supported()) return false;
  if (data.bias != nullptr) {
    primitive->Execute({{DNNL_ARG_SRC, data.x},
                        {DNNL_ARG_WEIGHTS, data.weight},
                        {DNNL_ARG_BIAS, data.bias},
                        {DNNL_ARG_DST, data.y}});
  } else {
    primitive->Execute({{DNNL_ARG_SRC, data.x},
                        {DNNL_ARG_WEIGHTS, data.weight},
                        {DNNL_ARG_DST, data.y}});
  }
  return true;
}

bool ConvInputGradOneDnn(const ConvGeometry& g, const ConvData& data) {
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      KeyOf(PrimitiveKind::kConvolutionInputGrad, g, data),
      [&] { return MakeInputGrad(g, data); });
  if (!primitive->supported()) return false;
  primitive->Execute({{DNNL_ARG_DIFF_DST, data.y},
                      {DNNL_ARG_WEIGHTS, data.weight},
                      {DNNL_ARG_DIFF_SRC, data.x}});
  return true;
}

bool ConvWeightGradOneDnn(const ConvGeometry& g, const ConvData& data) {
  // Threads share the images of the batch and then add up: their number shows
  // in the last bits.
  const onednn::FixedThreadsScope scope(
      g.OutputShape().numel() * g.in_channels_per_group() * g.window.kernel[0] *
      g.window.kernel[1]);
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      KeyOf(PrimitiveKind::kConvolutionWeightGrad, g, data, scope.threads()),
      [&] { return MakeWeightGrad(g, data); });
  if (!primitive->supported()) return false;
  primitive->Execute({{DNNL_ARG_SRC, data.x},
                      {DNNL_ARG_DIFF_DST, data.y},
                      {DNNL_ARG_DIFF_WEIGHTS, data.weight}});
  return true;
}

}  // namespace proa::inline v0::ops
