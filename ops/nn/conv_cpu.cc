// Kernels of convolution in one to three dims, its gradients and its transpose:
// oneDNN for float32 and bfloat16, products of matrices or loops for float64;
// float16 is computed in float32. All see images with channels last, those of
// one dim as of two; only float64's pointwise products take them as they lie.
#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/gemm_then.h"
#include "ops/nn/conv_activation.h"
#include "ops/nn/conv_geometry.h"
#include "ops/nn/conv_kernels.h"
#include "ops/nn/conv_loops.h"
#include "ops/nn/conv_onednn.h"
#include "ops/nn/conv_pointwise.h"
#include "ops/nn/conv_products.h"
#include "ops/nn/conv_transpose_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/nn/images.h"
#include "tensor/copy.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Which of the three tensors of a convolution is computed from the others.
enum class Wanted { kOutput, kInput, kWeight };

// oneDNN counts with 32 bits. The loops cost what taps inside the image cost,
// whatever steps and padding are.
bool FitsOneDnn(const ConvGeometry& g) {
  constexpr int64_t kMost = int64_t{1} << 24;
  const Window& w = g.window;
  for (int d = 0; d < g.dims(); ++d)
    if (std::max({w.Extent(d), w.stride[d], w.pad_before[d], w.pad_after[d]}) >
        kMost)
      return false;
  return true;
}

// Where bfloat16 is slow a convolution is computed in float32, but that of each
// channel by itself: it waits for memory.
bool SuitsOneDnn(const ConvGeometry& g, DType dtype) {
  return dtype == DType::kFloat32 ||
         (dtype == DType::kBFloat16 &&
          (MultipliesBFloat16() || g.groups == g.in_channels));
}

bool RunOneDnn(const ConvGeometry& g, Wanted wanted, const ConvData& data) {
  switch (wanted) {
    case Wanted::kOutput:
      return ConvOneDnn(g, data);
    case Wanted::kInput:
      return ConvInputGradOneDnn(g, data);
    case Wanted::kWeight:
      return ConvWeightGradOneDnn(g, data);
  }
  return false;
}

// Whether inputs may lie in either order.
bool TakesAnyOrder(const ConvGeometry& g, DType dtype) {
  return dtype == DType::kFloat64 && !g.empty() && IsPointwiseProduct(g) &&
         SuitsConvProducts(g);
}

// An input as [N, H, W, C], a copy only where it must be one, or where images
// are so small that products of each of them would read the weight too often.
Tensor ImagesFor(const ConvGeometry& g, const Tensor& x,
                 std::string_view data_format) {
  constexpr int64_t kFewPixels = 128;
  if (!HasChannelsFirst(data_format) || !TakesAnyOrder(g, x.dtype()) ||
      !x.is_contiguous() || (g.batch > 1 && g.in_pixels() < kFewPixels))
    return ChannelsLastInput(x, data_format);
  const int last = x.rank() - 1;
  Shape shape = x.shape();
  Strides strides = ContiguousStrides(shape);
  for (int d = 1; d < last; ++d) {
    shape[d] = x.size(d + 1);
    strides[d] = strides[d + 1];
  }
  shape[last] = x.size(1);
  strides[last] = x.numel() / (x.size(0) * x.size(1));
  return x.AsStrided(shape, strides, 0);
}

// Of ImagesFor, or of a result.
PixelsOf PixelsIn(const Tensor& images) {
  const int64_t channels = images.size(images.rank() - 1);
  const int64_t image = images.numel() / images.size(0);
  double* const data = images.data<double>();
  if (images.is_contiguous()) return {data, image, channels, 1};
  return {data, image, 1, image / channels};
}

void RunProducts(const ConvGeometry& g, Wanted wanted, const Tensor& x,
                 const Tensor& weight, const Tensor& bias, const Tensor& y) {
  double* const px = x.data<double>();
  double* const pw = weight.data<double>();
  double* const py = y.data<double>();
  const double* const pb = bias.defined() ? bias.data<double>() : nullptr;
  if (TakesAnyOrder(g, DType::kFloat64)) {
    switch (wanted) {
      case Wanted::kOutput:
        return PointwiseConv(g, PixelsIn(x), pw, pb, PixelsIn(y));
      case Wanted::kInput:
        return PointwiseInputGrad(g, PixelsIn(x), pw, PixelsIn(y));
      case Wanted::kWeight:
        return PointwiseWeightGrad(g, PixelsIn(x), pw, PixelsIn(y));
    }
  }
  switch (wanted) {
    case Wanted::kOutput:
      return ConvProducts(g, px, pw, pb, py);
    case Wanted::kInput:
      return ConvInputGradProducts(g, px, pw, py);
    case Wanted::kWeight:
      return ConvWeightGradProducts(g, px, pw, py);
  }
}

template <typename T>
void RunLoops(const ConvGeometry& g, Wanted wanted, const Tensor& x,
              const Tensor& weight, const Tensor& bias, const Tensor& y) {
  T* const px = x.data<T>();
  T* const pw = weight.data<T>();
  T* const py = y.data<T>();
  switch (wanted) {
    case Wanted::kOutput:
      return ConvLoops<T>(g, px, pw, bias.defined() ? bias.data<T>() : nullptr,
                          py);
    case Wanted::kInput:
      return ConvInputGradLoops<T>(g, px, pw, py);
    case Wanted::kWeight:
      return ConvWeightGradLoops<T>(g, px, pw, py);
  }
}

const Tensor& Result(Wanted wanted, const Tensor& x, const Tensor& weight,
                     const Tensor& y) {
  return wanted == Wanted::kOutput ? y : wanted == Wanted::kInput ? x : weight;
}

// Of y = x * weight + bias alone, as in ConvData.
struct Extras {
  Tensor scale = {};
  bool is_part = false;
  ConvThen* then = nullptr;
  ConvSum sum = {};
};

// `weight`, its rows multiplied by `scale`.
Tensor Scaled(const Tensor& weight, const Tensor& scale) {
  const Tensor out = Tensor::Empty(weight.shape(), weight.dtype());
  const int64_t row = weight.numel() / weight.size(0);
  VisitFloat(weight.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < weight.numel(); ++i) {
      out.data<T>()[i] = T(static_cast<double>(weight.data<T>()[i]) *
                           scale.data<double>()[i / row]);
    }
  });
  return out;
}

// Computes one of x, weight and y. All have one floating dtype but `bias`, and
// a weight that is computed: that may be float32 beside 16-bit images. x and y
// have channels last.
void Convolve(const ConvGeometry& g, Wanted wanted, const Tensor& x,
              const Tensor& any_weight, const Tensor& bias_in, const Tensor& y,
              const Extras& extras = {}) {
  const Tensor& scale = extras.scale;
  const Tensor weight = Contiguous(any_weight);
  const Tensor& result = Result(wanted, x, weight, y);
  if (result.numel() == 0) return;
  const DType dtype = wanted == Wanted::kWeight ? x.dtype() : result.dtype();
  if (g.empty()) {
    // Nothing to sum over (an empty batch, say): zeros, or the bias.
    if (wanted == Wanted::kOutput && bias_in.defined()) {
      const Tensor bias = FloatCopy(bias_in, dtype);
      const int64_t item = ItemSize(dtype);
      for (int64_t i = 0; i < result.numel(); ++i)
        std::memcpy(result.data<char>() + i * item,
                    bias.data<char>() + i % g.out_channels * item, item);
    } else {
      std::memset(result.raw_data(), 0, result.bytes());
    }
    return;
  }
  if (SuitsOneDnn(g, dtype) && FitsOneDnn(g) &&
      (!scale.defined() || dtype == DType::kFloat32)) {
    const Tensor bias = FloatCopy(bias_in, dtype);
    const ConvData data{x,     weight,     bias,        y,
                        scale, extras.sum, extras.then, extras.is_part};
    if (RunOneDnn(g, wanted, data)) return;
  }
  // A weight of 16 bits is multiplied when it is wide: it is rounded once.
  const bool low = dtype != DType::kFloat32 && dtype != DType::kFloat64;
  if (scale.defined() && !low) {
    return Convolve(g, wanted, x, Scaled(weight, scale), bias_in, y,
                    {Tensor(), extras.is_part, extras.then});
  }
  if (dtype == DType::kFloat64) {
    const auto run = SuitsConvProducts(g) ? RunProducts : RunLoops<double>;
    return run(g, wanted, x, weight, FloatCopy(bias_in, dtype), y);
  }
  if (dtype == DType::kFloat32)
    return RunLoops<float>(g, wanted, x, weight, FloatCopy(bias_in, dtype), y);
  const auto widen = [&](const Tensor& t) {
    if (t.dtype() == DType::kFloat32) return t;
    return t.is_same(result) ? Tensor::Empty(t.shape(), DType::kFloat32)
                             : FloatCopy(t, DType::kFloat32);
  };
  const Tensor wide_x = widen(x), wide_weight = widen(weight),
               wide_y = widen(y);
  Convolve(g, wanted, wide_x, wide_weight, bias_in, wide_y,
           {scale, extras.is_part});
  const Tensor& wide = Result(wanted, wide_x, wide_weight, wide_y);
  if (!wide.is_same(result)) FloatCopyInto(wide, result);
}

// The part of `outputs`, which are those of t.conv, that a transposed
// convolution begins with.
Tensor WithoutOutputsBehind(const TransposeGeometry& t, const Tensor& outputs) {
  Shape shape = outputs.shape();
  for (int d = 0; d < t.conv.dims(); ++d) shape[1 + d] -= t.behind[d];
  return outputs.AsStrided(shape, outputs.strides(), 0);
}

// x of a transposed convolution, and zeros for the outputs behind.
Tensor WithOutputsBehind(const TransposeGeometry& t, const Tensor& x) {
  if (!t.HasOutputsBehind()) return x;
  const Tensor out = Tensor::Empty(t.conv.OutputShape(), x.dtype(), x.place());
  std::memset(out.raw_data(), 0, out.bytes());
  if (x.numel() > 0) CopyInto(x, WithoutOutputsBehind(t, out));
  return out;
}

// x [..., channels] += bias[channels]
template <typename T>
void AddBias(const Tensor& x, const Tensor& bias) {
  T* data = x.data<T>();
  const T* b = bias.data<T>();
  const int64_t channels = bias.numel();
  for (int64_t i = 0; i < x.numel(); i += channels)
    for (int64_t c = 0; c < channels; ++c) data[i + c] = T(data[i + c] + b[c]);
}

// `bias`, which may be one number for all channels, for each of them.
Tensor BiasOf(const Tensor& bias, int64_t channels, DType dtype) {
  const Tensor b = FloatCopy(bias, dtype);
  if (!b.defined() || b.numel() == channels) return b;
  return Contiguous(b.AsStrided({channels}, {0}, 0));
}

// `g` for images with their channels last.
ConvGeometry ChannelsLast(ConvGeometry g) {
  g.format.channels_last = true;
  return g;
}
TransposeGeometry ChannelsLast(TransposeGeometry t) {
  t.conv.format.channels_last = true;
  return t;
}

// [N, L, C] as [N, 1, L, C], a weight [O, C, K] as [O, C, 1, K]: oneDNN knows
// less of one dim. Others as they are.
Tensor WithTwoDims(const Tensor& t, int at) {
  if (t.rank() != 3) return t;
  Shape shape = t.shape();
  shape.push_back(shape[2]);
  shape[2] = shape[1];
  shape[at] = 1;
  Strides strides = ContiguousStrides(shape);
  if (!t.is_contiguous()) {  // ImagesFor
    strides[2] = t.strides()[1];
    strides[3] = t.strides()[2];
  }
  return t.AsStrided(shape, strides, 0);
}

void ConvolveImages(const ConvGeometry& g, Wanted wanted, const Tensor& x,
                    const Tensor& weight, const Tensor& bias, const Tensor& y,
                    const Extras& extras = {}) {
  Convolve(ops::WithTwoDims(g), wanted, WithTwoDims(x, 1),
           WithTwoDims(Contiguous(weight), 2), bias, WithTwoDims(y, 1), extras);
}

}  // namespace

void Conv(const KernelContext& ctx, const Tensor& x, const Tensor& weight,
          const Tensor& bias, std::span<const int64_t> stride,
          std::span<const int64_t> padding, std::span<const int64_t> dilation,
          int64_t groups, std::string_view data_format,
          std::string_view padding_algorithm, Tensor* out) {
  ConvScaled(x, weight, Tensor(), bias, stride, padding, dilation, groups,
             data_format, padding_algorithm, /*is_part=*/false, Tensor(),
             /*relu=*/false, out, [](const GemmPart&) {});
}

bool FusesSum(const ConvGeometry& g, DType dtype) {
  return !g.empty() && SuitsOneDnn(g, dtype) && FitsOneDnn(g) &&
         FusesConvSum(g, dtype);
}

void ConvScaled(const Tensor& x, const Tensor& weight, const Tensor& scale,
                const Tensor& bias, std::span<const int64_t> stride,
                std::span<const int64_t> padding,
                std::span<const int64_t> dilation, int64_t groups,
                std::string_view data_format,
                std::string_view padding_algorithm, bool is_part,
                const Tensor& addend, bool relu, Tensor* out,
                absl::FunctionRef<void(const GemmPart& part)> done) {
  ConvThen then{done};
  const ConvGeometry g = GeometryOf(
      "conv", x.shape(), weight.shape(),
      {{stride, padding, dilation, padding_algorithm}, groups, data_format});
  ConvolveImages(
      ChannelsLast(g), Wanted::kOutput, ImagesFor(g, x, data_format), weight,
      BiasOf(bias, g.out_channels, out->dtype()),
      ChannelsLastOutput(*out, data_format),
      {FloatCopy(scale, DType::kFloat64), is_part, &then, {addend, relu}});
  if (!then.done) done({0, g.batch * g.out_pixels(), 0, g.out_channels});
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
  ConvolveImages(ChannelsLast(g), Wanted::kInput,
                 ChannelsLastOutput(*x_grad, data_format), weight, Tensor(),
                 ImagesFor(g, grad_out, data_format));
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
  ConvolveImages(ChannelsLast(g), Wanted::kWeight, ImagesFor(g, x, data_format),
                 *weight_grad, Tensor(), ImagesFor(g, grad_out, data_format));
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
  ConvolveImages(t.conv, Wanted::kInput, y, weight, Tensor(),
                 WithOutputsBehind(t, ImagesFor(t.conv, x, data_format)));
  if (!bias.defined() || out->numel() == 0) return;
  const Tensor shift = BiasOf(bias, t.conv.in_channels, out->dtype());
  VisitFloat(out->dtype(), [&](auto tag) {
    AddBias<typename decltype(tag)::type>(y, shift);
  });
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
  ConvolveImages(t.conv, Wanted::kOutput,
                 ImagesFor(t.conv, grad_out, data_format), weight, Tensor(),
                 outputs);
  if (t.HasOutputsBehind() && to.numel() > 0)
    CopyInto(WithoutOutputsBehind(t, outputs), to);
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
  ConvolveImages(t.conv, Wanted::kWeight,
                 ImagesFor(t.conv, grad_out, data_format), *weight_grad,
                 Tensor(),
                 WithOutputsBehind(t, ImagesFor(t.conv, x, data_format)));
}

}  // namespace proa::inline v0::ops::cpu
