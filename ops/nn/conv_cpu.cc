// Kernels of conv2d, its gradients and its transpose: oneDNN for float32 and
// bfloat16, loops for float64; float16 is computed in float32.
#include <algorithm>
#include <cstring>

#include "ops/nn/conv_geometry.h"
#include "ops/nn/conv_kernels.h"
#include "ops/nn/conv_loops.h"
#include "ops/nn/conv_onednn.h"
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
  for (int d = 0; d < 2; ++d)
    if (std::max({w.Extent(d), w.stride[d], w.pad_before[d], w.pad_after[d]}) >
        kMost)
      return false;
  return true;
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

// Computes one of x, weight and y. All have one floating dtype but `bias`; x
// and y are [N, H, W, C].
void Convolve(const ConvGeometry& g, Wanted wanted, const Tensor& x,
              const Tensor& any_weight, const Tensor& bias_in,
              const Tensor& y) {
  const Tensor weight = Contiguous(any_weight);
  const Tensor& result = Result(wanted, x, weight, y);
  if (result.numel() == 0) return;
  const DType dtype = result.dtype();
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
  if ((dtype == DType::kFloat32 || dtype == DType::kBFloat16) &&
      FitsOneDnn(g)) {
    const Tensor bias = FloatCopy(bias_in, dtype);
    const ConvData data{x, weight, bias, y};
    if (RunOneDnn(g, wanted, data)) return;
  }
  if (dtype == DType::kFloat64)
    return RunLoops<double>(g, wanted, x, weight, FloatCopy(bias_in, dtype), y);
  if (dtype == DType::kFloat32)
    return RunLoops<float>(g, wanted, x, weight, FloatCopy(bias_in, dtype), y);
  const auto widen = [&](const Tensor& t) {
    return t.is_same(result) ? Tensor::Empty(t.shape(), DType::kFloat32)
                             : FloatCopy(t, DType::kFloat32);
  };
  const Tensor wide_x = widen(x), wide_weight = widen(weight),
               wide_y = widen(y);
  Convolve(g, wanted, wide_x, wide_weight, bias_in, wide_y);
  FloatCopyInto(Result(wanted, wide_x, wide_weight, wide_y), result);
}

// x [N, H, W, C] with so many more rows and columns of zeros.
Tensor WithMore(const Tensor& x, int64_t rows, int64_t columns) {
  if (rows == 0 && columns == 0) return x;
  const Tensor out = Tensor::Empty(
      {x.size(0), x.size(1) + rows, x.size(2) + columns, x.size(3)}, x.dtype(),
      x.place());
  std::memset(out.raw_data(), 0, out.bytes());
  if (x.numel() > 0) CopyInto(x, out.AsStrided(x.shape(), out.strides(), 0));
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

// The geometry `g` of an op given with `data_format`, for images [N, H, W, C].
ConvGeometry Nhwc(ConvGeometry g) {
  g.channels_last = true;
  return g;
}

}  // namespace

void Conv2d(const KernelContext& ctx, const Tensor& x, const Tensor& weight,
            const Tensor& bias, std::span<const int64_t> stride,
            std::span<const int64_t> padding, std::span<const int64_t> dilation,
            int64_t groups, std::string_view data_format, Tensor* out) {
  const ConvGeometry g =
      GeometryOf("conv2d", x.shape(), weight.shape(),
                 {stride, padding, dilation, groups, data_format});
  Convolve(Nhwc(g), Wanted::kOutput, NhwcInput(x, data_format), weight,
           BiasOf(bias, g.out_channels, out->dtype()),
           NhwcOutput(*out, data_format));
}

void Conv2dInputGrad(const KernelContext& ctx, const Tensor& grad_out,
                     const Tensor& weight, const IntArray& input_shape,
                     std::span<const int64_t> stride,
                     std::span<const int64_t> padding,
                     std::span<const int64_t> dilation, int64_t groups,
                     std::string_view data_format, Tensor* x_grad) {
  const ConvGeometry g = GeometryOf(
      "conv2d_input_grad", Shape(input_shape.values()), weight.shape(),
      {stride, padding, dilation, groups, data_format});
  Convolve(Nhwc(g), Wanted::kInput, NhwcOutput(*x_grad, data_format), weight,
           Tensor(), NhwcInput(grad_out, data_format));
}

void Conv2dWeightGrad(const KernelContext& ctx, const Tensor& x,
                      const Tensor& grad_out, const IntArray& weight_shape,
                      std::span<const int64_t> stride,
                      std::span<const int64_t> padding,
                      std::span<const int64_t> dilation, int64_t groups,
                      std::string_view data_format, Tensor* weight_grad) {
  const ConvGeometry g =
      GeometryOf("conv2d_weight_grad", x.shape(), Shape(weight_shape.values()),
                 {stride, padding, dilation, groups, data_format});
  Convolve(Nhwc(g), Wanted::kWeight, NhwcInput(x, data_format), *weight_grad,
           Tensor(), NhwcInput(grad_out, data_format));
}

void Conv2dTranspose(const KernelContext& ctx, const Tensor& x,
                     const Tensor& weight, const Tensor& bias,
                     std::span<const int64_t> stride,
                     std::span<const int64_t> padding,
                     std::span<const int64_t> output_padding,
                     std::span<const int64_t> dilation, int64_t groups,
                     std::span<const int64_t> output_size,
                     std::string_view data_format, Tensor* out) {
  ConvGeometry g =
      TransposeGeometryOf("conv2d_transpose", x.shape(), weight.shape(),
                          {stride, padding, dilation, groups, data_format},
                          output_padding, output_size);
  int64_t more[2] = {0, 0};
  if (!output_padding.empty())
    ReadPair("conv2d_transpose", "output_padding", output_padding, 0, more);
  for (int d = 0; d < 2; ++d) {
    more[d] = OutputsBehind(g.window.stride[d], more[d]);
    g.out[d] += more[d];
  }
  const Tensor y = NhwcOutput(*out, data_format);
  Convolve(Nhwc(g), Wanted::kInput, y, weight, Tensor(),
           WithMore(NhwcInput(x, data_format), more[0], more[1]));
  if (!bias.defined() || out->numel() == 0) return;
  const Tensor shift = BiasOf(bias, g.in_channels, out->dtype());
  VisitFloat(out->dtype(), [&](auto tag) {
    AddBias<typename decltype(tag)::type>(y, shift);
  });
}

}  // namespace proa::inline v0::ops::cpu
