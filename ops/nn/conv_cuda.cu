// Kernels of convolution and transposed convolution by cuDNN. Images have their
// channels last, in memory as the shape rules say; weights are laid out anew,
// likewise, for each call.
#include <optional>

#include "ops/cudnn/convolution.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/int_array.h"
#include "ops/nn/conv_geometry.h"
#include "ops/nn/conv_kernels.h"
#include "ops/nn/conv_loops_cuda.h"
#include "ops/nn/conv_transpose_kernels.h"
#include "ops/nn/floats_cuda.h"
#include "ops/nn/images.h"
#include "ops/nn/rows_cuda.cuh"
#include "tensor/copy.h"
#include "tensor/interpreters.h"
#include "tensor/memory_order.h"

namespace proa::inline v0::ops::cuda {
namespace {

using cudnn::ConvWanted;

void Clear(const KernelContext& ctx, const Tensor& t) {
  if (t.numel() == 0) return;
  CheckCuda(cudaMemsetAsync(t.raw_data(), 0, static_cast<size_t>(t.bytes()),
                            StreamOf(ctx)),
            "cudaMemsetAsync");
}

cudnn::ConvProblem ProblemOf(const ConvGeometry& g, ConvWanted wanted,
                             DType dtype) {
  cudnn::ConvProblem p = {.wanted = wanted,
                          .dtype = dtype,
                          .channels_last = true,
                          .dims = g.dims(),
                          .batch = g.batch,
                          .in_channels = g.in_channels,
                          .out_channels = g.out_channels,
                          .groups = g.groups};
  for (int d = 0; d < 3; ++d) {
    p.in[d] = g.in[d];
    p.out[d] = g.out[d];
    p.kernel[d] = g.window.kernel[d];
    p.stride[d] = g.window.stride[d];
    p.dilation[d] = g.window.dilation[d];
    p.pad_before[d] = g.window.pad_before[d];
    p.pad_after[d] = g.window.pad_after[d];
  }
  return p;
}

// [N, H, W, C] as [N, C, H, W], an alias.
Tensor ChannelsFirstView(const Tensor& t) {
  Shape shape = t.shape();
  Strides strides = t.strides();
  const int last = t.rank() - 1;
  for (int d = last; d > 1; --d) {
    shape[d] = t.size(d - 1);
    strides[d] = t.strides()[d - 1];
  }
  shape[1] = t.size(last);
  strides[1] = t.strides()[last];
  return t.AsStrided(shape, strides, 0);
}

// The tensors of one attempt, in another order in memory; what is computed is
// copied back.
Tensor InputFor(const Tensor& t, bool result, MemoryOrder order) {
  if (!result) return InOrder(t, order);
  return LiesIn(t, order)
             ? t
             : EmptyInOrder(t.shape(), t.dtype(), t.place(), order);
}
void BringBack(const Tensor& from, const Tensor& to) {
  if (from.raw_data() != to.raw_data()) CopyInto(from, to);
}

// Computes one of x, weight and y; all have one floating dtype. x and y have
// channels last, weight is [out, in / groups, kernel...].
void Convolve(const KernelContext& ctx, const ConvGeometry& g,
              ConvWanted wanted, const Tensor& x, const Tensor& weight,
              const Tensor& y) {
  const Tensor& result = wanted == ConvWanted::kOutput  ? y
                         : wanted == ConvWanted::kInput ? x
                                                        : weight;
  if (result.numel() == 0) return;
  if (g.empty()) return Clear(ctx, result);
  cudnn::ConvProblem p = ProblemOf(g, wanted, result.dtype());
  {
    const Tensor w = InputFor(weight, wanted == ConvWanted::kWeight,
                              MemoryOrder::kChannelsLast);
    if (cudnn::Convolve(ctx, p, x.raw_data(), w.raw_data(), y.raw_data())) {
      if (wanted == ConvWanted::kWeight) BringBack(w, weight);
      return;
    }
  }
  // cuDNN knows more of channels that come first, in float64 for one.
  {
    const Tensor vx = ChannelsFirstView(x), vy = ChannelsFirstView(y);
    const Tensor fx =
        InputFor(vx, wanted == ConvWanted::kInput, MemoryOrder::kRowMajor);
    const Tensor fy =
        InputFor(vy, wanted == ConvWanted::kOutput, MemoryOrder::kRowMajor);
    p.channels_last = false;
    if (cudnn::Convolve(ctx, p, fx.raw_data(), weight.raw_data(),
                        fy.raw_data())) {
      if (wanted == ConvWanted::kInput) BringBack(fx, vx);
      if (wanted == ConvWanted::kOutput) BringBack(fy, vy);
      return;
    }
  }
  p.channels_last = true;
  ConvLoops(ctx, p, x.raw_data(), weight.raw_data(), y.raw_data());
}

// [N, L, C] as [N, 1, L, C], a weight [O, C, K] as [O, C, 1, K].
Tensor AsTwoDims(const Tensor& t, int at) {
  if (t.rank() != 3) return t;
  const Shape shape = at == 1 ? Shape{t.size(0), 1, t.size(1), t.size(2)}
                              : Shape{t.size(0), t.size(1), 1, t.size(2)};
  return t.AsStrided(shape, ContiguousStrides(shape), 0);
}

void ConvolveImages(const KernelContext& ctx, ConvGeometry g, ConvWanted wanted,
                    const Tensor& x, const Tensor& weight, const Tensor& y) {
  g.format.channels_last = true;
  Convolve(ctx, WithTwoDims(g), wanted, AsTwoDims(x, 1),
           AsTwoDims(Contiguous(weight), 2), AsTwoDims(y, 1));
}

// cuDNN gives weights in the dtype of the images: float32 ones are cast.
void WeightGrad(const KernelContext& ctx, const ConvGeometry& g,
                const Tensor& x, const Tensor& y, const Tensor& weight) {
  if (weight.dtype() == x.dtype())
    return ConvolveImages(ctx, g, ConvWanted::kWeight, x, weight, y);
  const Tensor low = Tensor::Empty(weight.shape(), x.dtype(), weight.place());
  ConvolveImages(ctx, g, ConvWanted::kWeight, x, low, y);
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  CopyInto(cast(low, weight.dtype()), weight);
}

// x [..., channels] += bias, of which there may be one for all channels.
template <class T, int V>
__global__ void AddBiasTo(Memory<T>* x, FloatArray bias, int64_t step,
                          int64_t channels, int64_t packs) {
  using C = Compute<T>;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < packs;
       i += int64_t{gridDim.x} * blockDim.x) {
    auto* at = reinterpret_cast<Pack<Memory<T>, V>*>(x) + i;
    Pack<Memory<T>, V> pack = *at;
    const int64_t per_row = channels / V;
    const int64_t first =
        V * ((i | per_row) >> 32 == 0
                 ? static_cast<int64_t>(static_cast<uint32_t>(i) %
                                        static_cast<uint32_t>(per_row))
                 : i % per_row);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      pack.v[k] = Store<Memory<T>>(Load<C>(pack.v[k]) +
                                   bias.At((first + k) * step, C(0)));
    }
    *at = pack;
  }
}

void AddBias(const KernelContext& ctx, const Tensor& x, const Tensor& bias,
             int64_t channels) {
  if (!bias.defined() || x.numel() == 0) return;
  const Tensor b = AnyFloatsOf(bias);
  const int64_t step = b.numel() == 1 ? 0 : 1;
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    VisitWidth<M>(channels, Aligned16({x.raw_data()}), [&]<int V>(Number<V>) {
      const int64_t packs = x.numel() / V;
      const int64_t blocks = std::min(CeilDiv(packs, 256), kMostPositions);
      AddBiasTo<T, V><<<static_cast<uint32_t>(blocks), 256, 0, StreamOf(ctx)>>>(
          static_cast<M*>(x.raw_data()), FloatArray(b), step, channels, packs);
    });
  });
  CheckLaunch("bias of a convolution");
}

// The part of `outputs`, which are those of t.conv, that a transposed
// convolution begins with.
Tensor WithoutOutputsBehind(const TransposeGeometry& t, const Tensor& outputs) {
  Shape shape = outputs.shape();
  for (int d = 0; d < t.conv.dims(); ++d) shape[1 + d] -= t.behind[d];
  return outputs.AsStrided(shape, outputs.strides(), 0);
}

// x of a transposed convolution, and zeros for the outputs behind.
Tensor WithOutputsBehind(const KernelContext& ctx, const TransposeGeometry& t,
                         const Tensor& x) {
  if (!t.HasOutputsBehind()) return x;
  const Tensor out = Tensor::Empty(t.conv.OutputShape(), x.dtype(), x.place());
  Clear(ctx, out);
  if (x.numel() > 0) CopyInto(x, WithoutOutputsBehind(t, out));
  return out;
}

TransposeGeometry ChannelsLast(TransposeGeometry t) {
  t.conv.format.channels_last = true;
  return t;
}

}  // namespace

void Conv(const KernelContext& ctx, const Tensor& x, const Tensor& weight,
          const Tensor& bias, std::span<const int64_t> stride,
          std::span<const int64_t> padding, std::span<const int64_t> dilation,
          int64_t groups, std::string_view data_format,
          std::string_view padding_algorithm, Tensor* out) {
  const ConvGeometry g = GeometryOf(
      "conv", x.shape(), weight.shape(),
      {{stride, padding, dilation, padding_algorithm}, groups, data_format});
  const Tensor y = ChannelsLastOutput(*out, data_format);
  ConvolveImages(ctx, g, ConvWanted::kOutput, ChannelsLastInput(x, data_format),
                 weight, y);
  AddBias(ctx, y, bias, g.out_channels);
}

void ConvInputGrad(const KernelContext& ctx, const Tensor& grad_out,
                   const Tensor& weight, const IntArray& input_shape,
                   std::span<const int64_t> stride,
                   std::span<const int64_t> padding,
                   std::span<const int64_t> dilation, int64_t groups,
                   std::string_view data_format,
                   std::string_view padding_algorithm, Tensor* x_grad) {
  const ConvGeometry g = GeometryOf(
      "conv_input_grad", Shape(input_shape.values()), weight.shape(),
      {{stride, padding, dilation, padding_algorithm}, groups, data_format});
  ConvolveImages(ctx, g, ConvWanted::kInput,
                 ChannelsLastOutput(*x_grad, data_format), weight,
                 ChannelsLastInput(grad_out, data_format));
}

void ConvWeightGrad(const KernelContext& ctx, const Tensor& x,
                    const Tensor& grad_out, const IntArray& weight_shape,
                    std::span<const int64_t> stride,
                    std::span<const int64_t> padding,
                    std::span<const int64_t> dilation, int64_t groups,
                    std::string_view data_format,
                    std::string_view padding_algorithm, std::optional<DType>,
                    Tensor* weight_grad) {
  const ConvGeometry g = GeometryOf(
      "conv_weight_grad", x.shape(), Shape(weight_shape.values()),
      {{stride, padding, dilation, padding_algorithm}, groups, data_format});
  WeightGrad(ctx, g, ChannelsLastInput(x, data_format),
             ChannelsLastInput(grad_out, data_format), *weight_grad);
}

void ConvTranspose(const KernelContext& ctx, const Tensor& x,
                   const Tensor& weight, const Tensor& bias,
                   std::span<const int64_t> stride,
                   std::span<const int64_t> padding,
                   std::span<const int64_t> output_padding,
                   std::span<const int64_t> dilation, int64_t groups,
                   const IntArray& output_size, std::string_view data_format,
                   std::string_view padding_algorithm, Tensor* out) {
  const TransposeGeometry t = ChannelsLast(TransposeGeometryOf(
      "conv_transpose", x.shape(), weight.shape(),
      {{{stride, padding, dilation, padding_algorithm}, groups, data_format},
       output_padding,
       output_size.values()}));
  const Tensor y = ChannelsLastOutput(*out, data_format);
  ConvolveImages(ctx, t.conv, ConvWanted::kInput, y, weight,
                 WithOutputsBehind(ctx, t, ChannelsLastInput(x, data_format)));
  AddBias(ctx, y, bias, t.conv.in_channels);
}

void ConvTransposeInputGrad(
    const KernelContext& ctx, const Tensor& grad_out, const Tensor& weight,
    const IntArray& input_shape, std::span<const int64_t> stride,
    std::span<const int64_t> padding, std::span<const int64_t> output_padding,
    std::span<const int64_t> dilation, int64_t groups,
    const IntArray& output_size, std::string_view data_format,
    std::string_view padding_algorithm, Tensor* x_grad) {
  const TransposeGeometry t = ChannelsLast(TransposeGeometryOf(
      "conv_transpose_input_grad", Shape(input_shape.values()), weight.shape(),
      {{{stride, padding, dilation, padding_algorithm}, groups, data_format},
       output_padding,
       output_size.values()}));
  const Tensor to = ChannelsLastOutput(*x_grad, data_format);
  const Tensor outputs =
      t.HasOutputsBehind()
          ? Tensor::Empty(t.conv.OutputShape(), to.dtype(), to.place())
          : to;
  ConvolveImages(ctx, t.conv, ConvWanted::kOutput,
                 ChannelsLastInput(grad_out, data_format), weight, outputs);
  if (t.HasOutputsBehind() && to.numel() > 0) {
    CopyInto(WithoutOutputsBehind(t, outputs), to);
  }
}

void ConvTransposeWeightGrad(
    const KernelContext& ctx, const Tensor& x, const Tensor& grad_out,
    const IntArray& weight_shape, std::span<const int64_t> stride,
    std::span<const int64_t> padding, std::span<const int64_t> output_padding,
    std::span<const int64_t> dilation, int64_t groups,
    const IntArray& output_size, std::string_view data_format,
    std::string_view padding_algorithm, std::optional<DType>,
    Tensor* weight_grad) {
  const TransposeGeometry t = ChannelsLast(TransposeGeometryOf(
      "conv_transpose_weight_grad", x.shape(), Shape(weight_shape.values()),
      {{{stride, padding, dilation, padding_algorithm}, groups, data_format},
       output_padding,
       output_size.values()}));
  WeightGrad(ctx, t.conv, ChannelsLastInput(grad_out, data_format),
             WithOutputsBehind(ctx, t, ChannelsLastInput(x, data_format)),
             *weight_grad);
}

}  // namespace proa::inline v0::ops::cuda
