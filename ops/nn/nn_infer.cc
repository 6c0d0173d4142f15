#include "ops/nn/nn_infer.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/nn/infer_checks.h"
#include "ops/nn/window.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

int ChannelDim(const char* op, const Tensor& x, std::string_view data_format) {
  PROA_REQUIRE(x.rank() >= 2, op, ": x must have at least 2 dims; it is ",
               Describe(x));
  constexpr std::string_view kFormats[] = {"NC",  "NCL",  "NCHW", "NCDHW",
                                           "NLC", "NHWC", "NDHWC"};
  PROA_REQUIRE(std::ranges::find(kFormats, data_format) != std::end(kFormats),
               op, ": data_format must be NC, NCL, NCHW, NCDHW, ",
               "NLC, NHWC or NDHWC; it is '", data_format, "'");
  return ChannelDimOf(x.rank(), data_format);
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
  PROA_REQUIRE(ShapesFit(Without(x, 1), label.shape()), op, ": label must be ",
               ToString(Without(x, 1)), "; it is ", Describe(label));
  RequireVector(op, "weight", weight, x[1]);
}

}  // namespace

DType sums_of(const char* op, const Tensor& x, const Tensor& y,
              std::optional<DType> wanted) {
  const DType dtype = promote(op, x, y);
  const bool low = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return low && wanted == DType::kFloat32 ? DType::kFloat32 : dtype;
}

// Softmax and losses ----------------------------------------------------------

Shape same_shapes(const char* op, const Tensor& x, const Tensor& y) {
  PROA_REQUIRE(ShapesFit(x.shape(), y.shape()), op,
               ": shapes differ; they are ", Describe(x), " and ", Describe(y));
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
    PROA_REQUIRE(ShapesFit(label.shape(), x.shape()), op,
                 ": a soft label must have the shape of logits; logits is ",
                 Describe(x), ", label is ", Describe(label));
    if (!IsFloat(label.dtype()))
      ThrowTypeError(std::string(op) +
                     ": a soft label must be floating point; label is " +
                     Describe(label));
    return loss;
  }
  const Shape flat = Without(x.shape(), at);
  PROA_REQUIRE(ShapesFit(label.shape(), loss) || ShapesFit(label.shape(), flat),
               op, ": label must be ", ToString(loss), " or ", ToString(flat),
               "; it is ", Describe(label));
  return loss;
}

Shape cross_entropy_grad(const char* op, const Tensor& grad_loss,
                         const Tensor& x, const Tensor& label, bool soft_label,
                         int64_t axis) {
  const Shape loss = cross_entropy(op, x, label, soft_label, axis);
  PROA_REQUIRE(ShapesFit(grad_loss.shape(), loss), op, ": grad_loss must be ",
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
  PROA_REQUIRE(flat || ShapesFit(t.shape(), row), op, ": ", name,
               " must have the ", "shape ", ToString(row),
               " (or be flat); it is ", Describe(t));
  RequireReal(op, name, t);
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
  if (!IsFloat(x.dtype())) {
    ThrowTypeError(std::string(op) + ": x must be floating; it is " +
                   Describe(x));
  }
  return RowOf(op, x, begin_axis);
}

Shape channels(const char* op, const Tensor& x, std::string_view data_format) {
  return {x.size(ChannelDim(op, x, data_format))};
}

Shape batch_statistics(const char* op, const Tensor& x,
                       std::string_view data_format) {
  const Shape out = channels(op, x, data_format);
  const Shape& shape = x.shape();
  const bool known = std::none_of(shape.begin(), shape.end(),
                                  [](int64_t n) { return IsUnknown(n); });
  // Eager calls pass such a batch through before they come here.
  PROA_REQUIRE(!known || out[0] == 0 || shape.numel() != out[0], op,
               ": a batch of one element a channel has no variance; x is ",
               Describe(x),
               ". Leave such a batch out, or use the running statistics");
  return out;
}

Shape batch_norm(const char* op, const Tensor& x, const Tensor& mean,
                 const Tensor& variance, const Tensor& weight,
                 const Tensor& bias, std::string_view data_format) {
  const int64_t c = channels(op, x, data_format)[0];
  RequireStatistics(op, "mean", mean, c);
  RequireStatistics(op, "variance", variance, c);
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
