// Shape rules of convolution.
#include "ops/nn/conv_activation.h"
#include "ops/nn/conv_geometry.h"
#include "ops/nn/infer_checks.h"
#include "ops/nn/nn_infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

// One number for each channel, or one for all.
void RequireBias(const char* op, const Tensor& t, int64_t channels) {
  PROA_REQUIRE(
      !t.defined() ||
          (t.rank() == 1 && (t.size(0) == 1 || !Differ(t.size(0), channels))),
      op, ": bias must be [", channels, "] or [1]; it is ", Describe(t));
  RequireReal(op, "bias", t);
}

}  // namespace

Shape conv(const char* op, int64_t dims, const Tensor& x, const Tensor& weight,
           const Tensor& bias, Ints stride, Ints padding, Ints dilation,
           int64_t groups, std::string_view data_format,
           std::string_view padding_algorithm) {
  const ConvGeometry g = GeometryOf(
      op, x.shape(), weight.shape(),
      {{stride, padding, dilation, padding_algorithm}, groups, data_format},
      static_cast<int>(dims));
  RequireBias(op, bias, g.out_channels);
  return g.OutputShape();
}

Shape conv2d_batch_norm(const char* op, const Tensor& x, const Tensor& weight,
                        const Tensor& mean, const Tensor& variance,
                        const Tensor& bias, const Tensor& norm_weight,
                        const Tensor& norm_bias, const Tensor& residual,
                        Ints stride, Ints padding, Ints dilation,
                        int64_t groups, std::string_view data_format,
                        std::string_view padding_algorithm) {
  const Shape out = conv(op, 2, x, weight, bias, stride, padding, dilation,
                         groups, data_format, padding_algorithm);
  const int64_t channels = weight.size(0);
  RequireStatistics(op, "mean", mean, channels);
  RequireStatistics(op, "variance", variance, channels);
  RequireVector(op, "norm_weight", norm_weight, channels);
  RequireVector(op, "norm_bias", norm_bias, channels);
  RequireResidual(op, residual, out);
  return out;
}

Shape conv2d_activation(const char* op, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, const Tensor& residual,
                        const Tensor& scale, std::string_view activation,
                        Ints stride, Ints padding, Ints dilation,
                        int64_t groups, std::string_view data_format,
                        std::string_view padding_algorithm) {
  const Shape out = conv(op, 2, x, weight, bias, stride, padding, dilation,
                         groups, data_format, padding_algorithm);
  RequireResidual(op, residual, out);
  RequireVector(op, "scale", scale, weight.size(0));
  PROA_REQUIRE(IsActivation(activation), op, ": activation must be ",
               kActivationNames, "; it is '", activation, "'");
  return out;
}

Shape folded_weight(const char* op, const Tensor& weight, const Tensor& mean,
                    const Tensor& variance, const Tensor& bias,
                    const Tensor& norm_weight, const Tensor& norm_bias,
                    int64_t channel_dim, int64_t groups) {
  PROA_REQUIRE(channel_dim == 0 || channel_dim == 1, op,
               ": channel_dim must be 0 or 1; it is ", channel_dim);
  PROA_REQUIRE(weight.rank() > channel_dim, op, ": weight has ", weight.rank(),
               weight.rank() == 1 ? " dim" : " dims",
               "; its channels cannot be dim ", channel_dim);
  PROA_REQUIRE(groups > 0, op, ": groups must be positive; it is ", groups);
  PROA_REQUIRE(channel_dim == 0 || IsUnknown(weight.size(0)) ||
                   weight.size(0) % groups == 0,
               op, ": groups ", groups, " does not divide the ", weight.size(0),
               " rows of weight");
  const int64_t size = weight.size(static_cast<int>(channel_dim));
  const int64_t channels =
      channel_dim == 0 || IsUnknown(size) ? size : size * groups;
  RequireStatistics(op, "mean", mean, channels);
  RequireStatistics(op, "variance", variance, channels);
  RequireBias(op, bias, channels);
  RequireVector(op, "norm_weight", norm_weight, channels);
  RequireVector(op, "norm_bias", norm_bias, channels);
  return weight.shape();
}

Shape conv_input_grad(const char* op, const Tensor& grad_out,
                      const Tensor& weight, const IntArray& input_shape,
                      Ints stride, Ints padding, Ints dilation, int64_t groups,
                      std::string_view data_format,
                      std::string_view padding_algorithm) {
  return GeometryOf(op, Shape(input_shape.values()), weight.shape(),
                    grad_out.shape(),
                    {{stride, padding, dilation, padding_algorithm},
                     groups,
                     data_format})
      .InputShape();
}

Shape conv_weight_grad(const char* op, const Tensor& x, const Tensor& grad_out,
                       const IntArray& weight_shape, Ints stride, Ints padding,
                       Ints dilation, int64_t groups,
                       std::string_view data_format,
                       std::string_view padding_algorithm) {
  GeometryOf(
      op, x.shape(), Shape(weight_shape.values()), grad_out.shape(),
      {{stride, padding, dilation, padding_algorithm}, groups, data_format});
  return Shape(weight_shape.values());
}

Shape conv_transpose(const char* op, int64_t dims, const Tensor& x,
                     const Tensor& weight, const Tensor& bias, Ints stride,
                     Ints padding, Ints output_padding, Ints dilation,
                     int64_t groups, const IntArray& output_size,
                     std::string_view data_format,
                     std::string_view padding_algorithm) {
  const ConvGeometry g =
      TransposeGeometryOf(op, x.shape(), weight.shape(),
                          {{{stride, padding, dilation, padding_algorithm},
                            groups,
                            data_format},
                           output_padding,
                           output_size.values()},
                          static_cast<int>(dims))
          .conv;
  RequireBias(op, bias, g.in_channels);
  if (!output_size.is_symbolic()) return g.InputShape();
  const Shape shape = g.InputShape();
  DimVector out(shape.dims().begin(), shape.dims().end());
  for (int d = 0; d < g.dims(); ++d) {
    if (d >= output_size.size() || IsUnknown(output_size[d]))
      out[g.format.spatial_dim(d)] = kUnknownDim;
  }
  return Shape(out);
}

namespace {

// Checks that grad_out is what a transposed convolution gives.
void RequireTransposed(const char* op, const Shape& x, const Shape& weight,
                       const Shape& grad_out, const TransposeAttributes& a) {
  const Shape expected =
      TransposeGeometryOf(op, x, weight, a).conv.InputShape();
  PROA_REQUIRE(ShapesFit(expected, grad_out), op, ": grad_out is ",
               ToString(grad_out), "; a transposed convolution of ",
               ToString(x), " with ", ToString(weight), " gives ",
               ToString(expected));
}

}  // namespace

Shape conv_transpose_input_grad(
    const char* op, const Tensor& grad_out, const Tensor& weight,
    const IntArray& input_shape, Ints stride, Ints padding, Ints output_padding,
    Ints dilation, int64_t groups, const IntArray& output_size,
    std::string_view data_format, std::string_view padding_algorithm) {
  const Shape x(input_shape.values());
  RequireTransposed(
      op, x, weight.shape(), grad_out.shape(),
      {{{stride, padding, dilation, padding_algorithm}, groups, data_format},
       output_padding,
       output_size.values()});
  return x;
}

Shape conv_transpose_weight_grad(const char* op, const Tensor& x,
                                 const Tensor& grad_out,
                                 const IntArray& weight_shape, Ints stride,
                                 Ints padding, Ints output_padding,
                                 Ints dilation, int64_t groups,
                                 const IntArray& output_size,
                                 std::string_view data_format,
                                 std::string_view padding_algorithm) {
  const Shape weight(weight_shape.values());
  RequireTransposed(
      op, x.shape(), weight, grad_out.shape(),
      {{{stride, padding, dilation, padding_algorithm}, groups, data_format},
       output_padding,
       output_size.values()});
  return weight;
}

}  // namespace proa::inline v0::ops::infer
