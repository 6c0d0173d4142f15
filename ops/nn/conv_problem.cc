#include "ops/nn/conv_problem.h"

#include <cstdint>
#include <utility>

#include "ops/nn/conv_defects.h"
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
  for (int d = 0; d < g.dims(); ++d) {
    const Window& w = g.window;
    for (int64_t v : {g.in[d], g.out[d], w.kernel[d], w.stride[d],
                      w.dilation[d], w.pad_before[d], w.pad_after[d]})
      key.Add(v);
  }
  return key;
}

memory::desc ConvWeightDesc(const ConvGeometry& g, DType dtype,
                            bool transposed) {
  const Window& w = g.window;
  memory::dims dims{g.groups, g.out_channels_per_group(),
                    g.in_channels_per_group()};
  dims.insert(dims.end(), w.kernel, w.kernel + g.dims());
  memory::dims strides(dims.size(), 1);
  for (size_t d = dims.size() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * dims[d];
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
  const int n = g.dims();
  const auto dims = [n](memory::dims first, const int64_t* sizes) {
    first.insert(first.end(), sizes, sizes + n);
    return first;
  };
  memory::dims weight =
      dims({g.out_channels_per_group(), g.in_channels_per_group()}, w.kernel);
  if (g.groups > 1) weight.insert(weight.begin(), g.groups);
  const tag image = n == 3 ? tag::ndhwc : tag::nhwc;
  ConvProblem p;
  p.x = {dims({g.batch, g.in_channels}, g.in), t, image};
  p.y = {dims({g.batch, g.out_channels}, g.out), t, image};
  p.weight = {weight, t, tag::any};
  p.bias = {{g.out_channels}, t, tag::x};
  p.stride = dims({}, w.stride);
  // One tap is never apart from another.
  for (int d = 0; d < n; ++d)
    p.dilation.push_back(w.kernel[d] == 1 ? 0 : w.dilation[d] - 1);
  p.pad_before = dims({}, w.pad_before);
  p.pad_after = dims({}, w.pad_after);
  return p;
}

dnnl::convolution_forward::primitive_desc ForwardDesc(const ConvProblem& p,
                                                      bool has_bias) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::desc problem =
      has_bias ? dnnl::convolution_forward::desc(
                     kind, algorithm, p.x, p.weight, p.bias, p.y, p.stride,
                     p.dilation, p.pad_before, p.pad_after)
               : dnnl::convolution_forward::desc(kind, algorithm, p.x, p.weight,
                                                 p.y, p.stride, p.dilation,
                                                 p.pad_before, p.pad_after);
  dnnl::convolution_forward::primitive_desc pd(
      problem, onednn::UserScratchpad(), onednn::Engine());
  // The last one stays if all are; HasKernel refuses it then.
  while (IsDefective(pd.impl_info_str()) && pd.next_impl()) continue;
  return pd;
}

bool HasKernel(const onednn::Primitive& p) {
  return p.supported() && !p.implementation().starts_with("ref") &&
         !IsDefective(p.implementation());
}

}  // namespace proa::inline v0::ops
