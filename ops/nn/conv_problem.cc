#include "ops/nn/conv_problem.h"

#include <cstdint>
#include <utility>

#include "ops/onednn/descriptor.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/primitive.h"

namespace proa::inline v0::ops {
namespace {

using dnnl::memory;
using tag = memory::format_tag;

}  // namespace

onednn::PrimitiveKey ConvKey(onednn::PrimitiveKind kind, const ConvGeometry& g,
                             DType dtype, bool has_bias, int threads) {
  onednn::PrimitiveKey key(kind);
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

memory::desc ConvWeightDesc(const ConvGeometry& g, DType dtype,
                            bool transposed) {
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

ConvProblem DescribeConv(const ConvGeometry& g, DType dtype) {
  const auto t = onednn::DataType(dtype);
  const Window& w = g.window;
  memory::dims weight{g.out_channels_per_group(), g.in_channels_per_group(),
                      w.kernel[0], w.kernel[1]};
  if (g.groups > 1) weight.insert(weight.begin(), g.groups);
  ConvProblem p;
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

dnnl::convolution_forward::primitive_desc ForwardDesc(const ConvProblem& p,
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

}  // namespace proa::inline v0::ops
