#include "ops/nn/nn_infer.h"

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/nn/conv_geometry.h"
#include "ops/nn/pool_geometry.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

bool Differ(int64_t a, int64_t b) {
  return a != b && a != kUnknownDim && b != kUnknownDim;
}

bool Differ(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return true;
  for (int d = 0; d < a.rank(); ++d)
    if (Differ(a[d], b[d])) return true;
  return false;
}

void RequireVector(const char* op, const char* name, const Tensor& t,
                   int64_t size) {
  PROA_REQUIRE(!t.defined() || (t.rank() == 1 && !Differ(t.size(0), size)), op,
               ": ", name, " must be [", size, "]; it is ", Describe(t));
}

// One number for each channel, or one for all.
void RequireBias(const char* op, const Tensor& t, int64_t channels) {
  PROA_REQUIRE(
      !t.defined() ||
          (t.rank() == 1 && (t.size(0) == 1 || !Differ(t.size(0), channels))),
      op, ": bias must be [", channels, "] or [1]; it is ", Describe(t));
}

int ChannelDim(const char* op, const Tensor& x, std::string_view data_format) {
  PROA_REQUIRE(x.rank() >= 2, op, ": x must have at least 2 dims; it is ",
               Describe(x));
  const bool first = data_format == "NC" || data_format == "NCL" ||
                     data_format == "NCHW" || data_format == "NCDHW";
  const bool last =
      data_format == "NLC" || data_format == "NHWC" || data_format == "NDHWC";
  PROA_REQUIRE(first || last, op,
               ": data_format must be NC, NCL, NCHW, NCDHW, ",
               "NLC, NHWC or NDHWC; it is '", data_format, "'");
  return last ? x.rank() - 1 : 1;
}

// The shape of x without axis `at`.
Shape Without(const Shape& x, int at) {
  Shape out;
  for (int d = 0; d < x.rank(); ++d)
    if (d != at) out.push_back(x[d]);
  return out;
}

void CheckNllLabel(const char* op, const Shape& x, const Tensor& label,
                   const Tensor& weight) {
  PROA_REQUIRE(x.rank() >= 2, op, ": x must be [N, C, ...]; it is ",
               ToString(x));
  PROA_REQUIRE(!Differ(Without(x, 1), label.shape()), op, ": label must be ",
               ToString(Without(x, 1)), "; it is ", Describe(label));
  RequireVector(op, "weight", weight, x[1]);
}

}  // namespace

// Convolution -----------------------------------------------------------------

Shape conv2d(const char* op, const Tensor& x, const Tensor& weight,
             const Tensor& bias, Ints stride, Ints padding, Ints dilation,
             int64_t groups, std::string_view data_format) {
  const ConvGeometry g =
      GeometryOf(op, x.shape(), weight.shape(),
                 {stride, padding, dilation, groups, data_format});
  RequireBias(op, bias, g.out_channels);
  return g.OutputShape();
}

Shape conv2d_batch_norm(const char* op, const Tensor& x, const Tensor& weight,
                        const Tensor& mean, const Tensor& variance,
                        const Tensor& bias, const Tensor& norm_weight,
                        const Tensor& norm_bias, const Tensor& residual,
                        Ints stride, Ints padding, Ints dilation,
                        int64_t groups, std::string_view data_format) {
  const Shape out = conv2d(op, x, weight, bias, stride, padding, dilation,
                           groups, data_format);
  const int64_t channels = weight.size(0);
  RequireVector(op, "mean", mean, channels);
  RequireVector(op, "variance", variance, channels);
  RequireVector(op, "norm_weight", norm_weight, channels);
  RequireVector(op, "norm_bias", norm_bias, channels);
  PROA_REQUIRE(!residual.defined() || !Differ(residual.shape(), out), op,
               ": residual must be ", ToString(out), "; it is ",
               Describe(residual));
  return out;
}

Shape conv2d_input_grad(const char* op, const Tensor& grad_out,
                        const Tensor& weight, const IntArray& input_shape,
                        Ints stride, Ints padding, Ints dilation,
                        int64_t groups, std::string_view data_format) {
  return GeometryOf(op, Shape(input_shape.values()), weight.shape(),
                    grad_out.shape(),
                    {stride, padding, dilation, groups, data_format})
      .InputShape();
}

Shape conv2d_weight_grad(const char* op, const Tensor& x,
                         const Tensor& grad_out, const IntArray& weight_shape,
                         Ints stride, Ints padding, Ints dilation,
                         int64_t groups, std::string_view data_format) {
  GeometryOf(op, x.shape(), Shape(weight_shape.values()), grad_out.shape(),
             {stride, padding, dilation, groups, data_format});
  return Shape(weight_shape.values());
}

Shape conv2d_transpose(const char* op, const Tensor& x, const Tensor& weight,
                       const Tensor& bias, Ints stride, Ints padding,
                       Ints output_padding, Ints dilation, int64_t groups,
                       Ints output_size, std::string_view data_format) {
  const ConvGeometry g =
      TransposeGeometryOf(op, x.shape(), weight.shape(),
                          {stride, padding, dilation, groups, data_format},
                          output_padding, output_size);
  RequireBias(op, bias, g.in_channels);
  return g.InputShape();
}

// Pooling ---------------------------------------------------------------------

MemoryOrder image_order(const char*, std::string_view data_format) {
  return data_format == "NCHW" ? MemoryOrder::kChannelsLast
                               : MemoryOrder::kRowMajor;
}

MemoryOrder order_of(const char*, const Tensor& x,
                     std::string_view data_format) {
  return data_format == "NCHW" ? OrderOf(x) : MemoryOrder::kRowMajor;
}

MemoryOrder order_of_larger(const char* op, const Tensor& x,
                            std::string_view data_format) {
  if (data_format == "NCHW" && LiesIn(x, MemoryOrder::kChannelsLast))
    return MemoryOrder::kChannelsLast;
  return order_of(op, x, data_format);
}

IntArray shape_of(const char* op, const Tensor& x) { return x.shape(); }

Shape pool2d(const char* op, const Tensor& x, Ints kernel_size, Ints stride,
             Ints padding, bool ceil_mode, std::string_view data_format) {
  return PoolGeometryOf(op, x.shape(),
                        {kernel_size, stride, padding, ceil_mode, data_format})
      .OutputShape();
}

Shape pool2d_grad(const char* op, const Tensor& grad_out,
                  const IntArray& input_shape, Ints kernel_size, Ints stride,
                  Ints padding, bool ceil_mode, std::string_view data_format) {
  const PoolGeometry g =
      PoolGeometryOf(op, Shape(input_shape.values()),
                     {kernel_size, stride, padding, ceil_mode, data_format});
  PROA_REQUIRE(!Differ(g.OutputShape(), grad_out.shape()), op, ": grad_out is ",
               ToString(grad_out.shape()), "; pooling ",
               ToString(g.InputShape()), " gives ", ToString(g.OutputShape()));
  return g.InputShape();
}

Shape adaptive_pool2d(const char* op, const Tensor& x, Ints output_size,
                      std::string_view data_format) {
  return AdaptivePoolGeometryOf(op, x.shape(), output_size, data_format)
      .OutputShape();
}

namespace {

// Batch and channels of two image tensors must agree.
void RequireSameImages(const char* op, const Shape& a, const Shape& b,
                       std::string_view data_format) {
  const bool last = IsChannelsLast(op, data_format);
  PROA_REQUIRE(a.rank() == 4 && b.rank() == 4, op,
               ": tensors must have 4 dims; they are ", ToString(a), " and ",
               ToString(b));
  const int c = last ? 3 : 1;
  PROA_REQUIRE(!Differ(a[0], b[0]) && !Differ(a[c], b[c]), op,
               ": numbers or channels of the images differ; they are ",
               ToString(a), " and ", ToString(b));
}

}  // namespace

Shape adaptive_pool2d_grad(const char* op, const Tensor& grad_out,
                           const IntArray& input_shape,
                           std::string_view data_format) {
  const Shape in(input_shape.values());
  RequireSameImages(op, grad_out.shape(), in, data_format);
  const int64_t one[] = {1};
  AdaptivePoolGeometryOf(op, in, one, data_format);
  const int first = data_format == "NHWC" ? 1 : 2;
  for (int d = first; d < first + 2; ++d)
    PROA_REQUIRE(grad_out.size(d) != 0, op,
                 ": grad_out has no elements along dim ", d, "; it is ",
                 Describe(grad_out));
  return in;
}

Shape pool2d_scatter(const char* op, const Tensor& values,
                     const Tensor& indices, const IntArray& input_shape,
                     std::string_view data_format) {
  const Shape in(input_shape.values());
  for (int64_t d : in)
    PROA_REQUIRE(d >= 0 || d == kUnknownDim, op, ": input_shape ", ToString(in),
                 " has a negative size");
  PROA_REQUIRE(indices.dtype() == DType::kInt32, op,
               ": indices must be int32; they are ", Describe(indices));
  PROA_REQUIRE(!Differ(values.shape(), indices.shape()), op,
               ": shapes differ; values is ", Describe(values), ", indices is ",
               Describe(indices));
  RequireSameImages(op, values.shape(), in, data_format);
  in.numel();  // throws if the product overflows
  return in;
}

Shape pool2d_gather(const char* op, const Tensor& x, const Tensor& indices,
                    std::string_view data_format) {
  PROA_REQUIRE(indices.dtype() == DType::kInt32, op,
               ": indices must be int32; they are ", Describe(indices));
  RequireSameImages(op, x.shape(), indices.shape(), data_format);
  return indices.shape();
}

// Softmax and losses ----------------------------------------------------------

Shape same_shapes(const char* op, const Tensor& x, const Tensor& y) {
  PROA_REQUIRE(!Differ(x.shape(), y.shape()), op, ": shapes differ; they are ",
               Describe(x), " and ", Describe(y));
  return x.shape();
}

Shape same_along(const char* op, const Tensor& x, const Tensor& y,
                 int64_t axis) {
  NormalizeAxis(op, axis, x.rank());
  return same_shapes(op, x, y);
}

Shape cross_entropy(const char* op, const Tensor& x, const Tensor& label,
                    bool soft_label, int64_t axis) {
  PROA_REQUIRE(x.rank() >= 1, op, ": logits must have at least 1 dim");
  const int at = NormalizeAxis(op, axis, x.rank());
  Shape loss = x.shape();
  loss[at] = 1;
  if (soft_label) {
    PROA_REQUIRE(!Differ(label.shape(), x.shape()), op,
                 ": a soft label must have the shape of logits; logits is ",
                 Describe(x), ", label is ", Describe(label));
    if (!IsFloat(label.dtype()))
      ThrowTypeError(std::string(op) +
                     ": a soft label must be floating point; label is " +
                     Describe(label));
    return loss;
  }
  const Shape flat = Without(x.shape(), at);
  PROA_REQUIRE(!Differ(label.shape(), loss) || !Differ(label.shape(), flat), op,
               ": label must be ", ToString(loss), " or ", ToString(flat),
               "; it is ", Describe(label));
  return loss;
}

Shape cross_entropy_grad(const char* op, const Tensor& grad_loss,
                         const Tensor& x, const Tensor& label, bool soft_label,
                         int64_t axis) {
  const Shape loss = cross_entropy(op, x, label, soft_label, axis);
  PROA_REQUIRE(!Differ(grad_loss.shape(), loss), op, ": grad_loss must be ",
               ToString(loss), "; it is ", Describe(grad_loss));
  return x.shape();
}

Shape nll_loss(const char* op, const Tensor& x, const Tensor& label,
               const Tensor& weight) {
  CheckNllLabel(op, x.shape(), label, weight);
  return Without(x.shape(), 1);
}

Shape nll_loss_grad(const char* op, const Tensor& grad_loss,
                    const Tensor& label, const Tensor& weight,
                    const IntArray& x_shape) {
  const Shape x(x_shape.values());
  CheckNllLabel(op, x, label, weight);
  same_shapes(op, grad_loss, label);
  return x;
}

// Normalization ---------------------------------------------------------------

namespace {

void RequireRowVector(const char* op, const char* name, const Tensor& t,
                      const Shape& row) {
  if (!t.defined()) return;
  const bool flat = t.rank() == 1 && !Differ(t.size(0), row.numel());
  PROA_REQUIRE(flat || !Differ(t.shape(), row), op, ": ", name,
               " must have the ", "shape ", ToString(row),
               " (or be flat); it is ", Describe(t));
}

Shape RowOf(const char* op, const Tensor& x, int64_t begin_axis) {
  PROA_REQUIRE(x.rank() >= 1, op, ": x must have at least 1 dim; it is ",
               Describe(x));
  const int at = NormalizeAxis(op, begin_axis, x.rank());
  return Shape(x.shape().span().subspan(at));
}

}  // namespace

Shape layer_norm(const char* op, const Tensor& x, const Tensor& weight,
                 const Tensor& bias, int64_t begin_axis) {
  const Shape row = RowOf(op, x, begin_axis);
  RequireRowVector(op, "weight", weight, row);
  RequireRowVector(op, "bias", bias, row);
  return x.shape();
}

Shape layer_norm_input_grad(const char* op, const Tensor& grad_out,
                            const Tensor& x, const Tensor& weight,
                            int64_t begin_axis) {
  RequireRowVector(op, "weight", weight, RowOf(op, x, begin_axis));
  return same_shapes(op, grad_out, x);
}

Shape layer_norm_weight_grad(const char* op, const Tensor& grad_out,
                             const Tensor& x, int64_t begin_axis) {
  same_shapes(op, grad_out, x);
  return RowOf(op, x, begin_axis);
}

Shape channels(const char* op, const Tensor& x, std::string_view data_format) {
  return {x.size(ChannelDim(op, x, data_format))};
}

Shape batch_norm(const char* op, const Tensor& x, const Tensor& mean,
                 const Tensor& variance, const Tensor& weight,
                 const Tensor& bias, std::string_view data_format) {
  const int64_t c = channels(op, x, data_format)[0];
  RequireVector(op, "mean", mean, c);
  RequireVector(op, "variance", variance, c);
  RequireVector(op, "weight", weight, c);
  RequireVector(op, "bias", bias, c);
  return x.shape();
}

Shape batch_norm_grad(const char* op, const Tensor& grad_out, const Tensor& x,
                      const Tensor& weight, const Tensor& mean,
                      const Tensor& inv_std, const Tensor& shift,
                      const Tensor& slope, std::string_view data_format) {
  batch_norm(op, x, mean, inv_std, weight, Tensor(), data_format);
  const int64_t c = channels(op, x, data_format)[0];
  RequireVector(op, "shift", shift, c);
  RequireVector(op, "slope", slope, c);
  return same_shapes(op, grad_out, x);
}

Shape batch_norm_add(const char* op, const Tensor& x, const Tensor& residual,
                     const Tensor& mean, const Tensor& variance,
                     const Tensor& weight, const Tensor& bias,
                     std::string_view data_format) {
  batch_norm(op, x, mean, variance, weight, bias, data_format);
  return same_shapes(op, x, residual);
}

Shape batch_norm_relu_grad(const char* op, const Tensor& grad_out,
                           const Tensor& x, const Tensor& weight,
                           const Tensor& bias, const Tensor& mean,
                           const Tensor& inv_std, const Tensor& shift,
                           const Tensor& slope, std::string_view data_format) {
  RequireVector(op, "bias", bias, channels(op, x, data_format)[0]);
  return batch_norm_grad(op, grad_out, x, weight, mean, inv_std, shift, slope,
                         data_format);
}

Shape batch_norm_add_relu_grad(const char* op, const Tensor& grad_out,
                               const Tensor& y, const Tensor& x,
                               const Tensor& weight, const Tensor& mean,
                               const Tensor& inv_std, const Tensor& shift,
                               const Tensor& slope,
                               std::string_view data_format) {
  same_shapes(op, y, x);
  return batch_norm_grad(op, grad_out, x, weight, mean, inv_std, shift, slope,
                         data_format);
}

Shape batch_norm_weight_grad(const char* op, const Tensor& grad_out,
                             const Tensor& x, const Tensor& mean,
                             const Tensor& inv_std,
                             std::string_view data_format) {
  batch_norm(op, x, mean, inv_std, Tensor(), Tensor(), data_format);
  same_shapes(op, grad_out, x);
  return channels(op, x, data_format);
}

Shape attention(const char* op, const Tensor& query, const Tensor& key,
                const Tensor& value, const Tensor& mask) {
  const auto require_rank = [&](const char* name, const Tensor& t) {
    PROA_REQUIRE(t.rank() == 4, op, ": ", name, " must have 4 dims; it is ",
                 Describe(t));
  };
  require_rank("query", query);
  require_rank("key", key);
  require_rank("value", value);
  const auto q = query.shape(), k = key.shape(), v = value.shape();
  PROA_REQUIRE(
      !Differ(k[0], q[0]) && !Differ(k[2], q[2]) && !Differ(k[3], q[3]), op,
      ": key must be [", q[0], ", S, ", q[2], ", ", q[3], "], as query is ",
      Describe(query), "; it is ", Describe(key));
  PROA_REQUIRE(
      !Differ(v[0], k[0]) && !Differ(v[1], k[1]) && !Differ(v[2], k[2]), op,
      ": value must be [", k[0], ", ", k[1], ", ", k[2], ", E], as key is ",
      Describe(key), "; it is ", Describe(value));
  if (mask.defined()) {
    if (!IsFloat(mask.dtype()))
      ThrowTypeError(absl::StrCat(op, ": mask must be a float tensor; it is ",
                                  Describe(mask)));
    const int64_t whole[] = {q[0], q[2], q[1], k[1]};
    bool fits = mask.rank() <= 4;
    for (int d = 1; fits && d <= mask.rank(); ++d) {
      const int64_t size = mask.size(mask.rank() - d);
      fits = size == 1 || !Differ(size, whole[4 - d]);
    }
    PROA_REQUIRE(fits, op, ": mask does not broadcast to [", q[0], ", ", q[2],
                 ", ", q[1], ", ", k[1], "]; it is ", Describe(mask));
  }
  return {q[0], q[1], q[2], v[3]};
}

Shape attention_grad(const char* op, const Tensor& grad_out,
                     const Tensor& query, const Tensor& key,
                     const Tensor& value, const Tensor& mask) {
  const Shape out = attention(op, query, key, value, mask);
  bool fits = grad_out.rank() == 4;
  for (int d = 0; fits && d < 4; ++d) fits = !Differ(grad_out.size(d), out[d]);
  PROA_REQUIRE(fits, op, ": grad_out must be [", out[0], ", ", out[1], ", ",
               out[2], ", ", out[3], "]; it is ", Describe(grad_out));
  return query.shape();
}

Shape dropout(const char* op, const Tensor& x, double p,
              std::string_view mode) {
  PROA_REQUIRE(p >= 0 && p <= 1, op, ": p must be in [0, 1]; it is ", p);
  PROA_REQUIRE(mode == "upscale_in_train" || mode == "downscale_in_infer", op,
               ": mode must be upscale_in_train or downscale_in_infer; it is '",
               mode, "'");
  return x.shape();
}

}  // namespace proa::inline v0::ops::infer
