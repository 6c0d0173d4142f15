// Shape rules of neural network ops (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_NN_NN_INFER_H_
#define PROA_OPS_NN_NN_INFER_H_

#include <optional>
#include <span>
#include <string_view>

#include "ops/int_array.h"
#include "tensor/dtype.h"
#include "tensor/memory_order.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

using Ints = std::span<const int64_t>;

// Convolution. Shapes as in ops/nn/conv_geometry.h; `dims` are the spatial
// ones.
Shape conv(const char* op, int64_t dims, const Tensor& x, const Tensor& weight,
           const Tensor& bias, Ints stride, Ints padding, Ints dilation,
           int64_t groups, std::string_view data_format,
           std::string_view padding_algorithm);
Shape conv2d_batch_norm(const char* op, const Tensor& x, const Tensor& weight,
                        const Tensor& mean, const Tensor& variance,
                        const Tensor& bias, const Tensor& norm_weight,
                        const Tensor& norm_bias, const Tensor& residual,
                        Ints stride, Ints padding, Ints dilation,
                        int64_t groups, std::string_view data_format,
                        std::string_view padding_algorithm);
Shape conv2d_activation(const char* op, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, const Tensor& residual,
                        const Tensor& scale, std::string_view activation,
                        Ints stride, Ints padding, Ints dilation,
                        int64_t groups, std::string_view data_format,
                        std::string_view padding_algorithm);
// The shape of weight, after checking what is folded into it.
Shape folded_weight(const char* op, const Tensor& weight, const Tensor& mean,
                    const Tensor& variance, const Tensor& bias,
                    const Tensor& norm_weight, const Tensor& norm_bias,
                    int64_t channel_dim, int64_t groups);
Shape conv_input_grad(const char* op, const Tensor& grad_out,
                      const Tensor& weight, const IntArray& input_shape,
                      Ints stride, Ints padding, Ints dilation, int64_t groups,
                      std::string_view data_format,
                      std::string_view padding_algorithm);
Shape conv_weight_grad(const char* op, const Tensor& x, const Tensor& grad_out,
                       const IntArray& weight_shape, Ints stride, Ints padding,
                       Ints dilation, int64_t groups,
                       std::string_view data_format,
                       std::string_view padding_algorithm);
Shape conv_transpose(const char* op, int64_t dims, const Tensor& x,
                     const Tensor& weight, const Tensor& bias, Ints stride,
                     Ints padding, Ints output_padding, Ints dilation,
                     int64_t groups, const IntArray& output_size,
                     std::string_view data_format,
                     std::string_view padding_algorithm);
Shape conv_transpose_input_grad(
    const char* op, const Tensor& grad_out, const Tensor& weight,
    const IntArray& input_shape, Ints stride, Ints padding, Ints output_padding,
    Ints dilation, int64_t groups, const IntArray& output_size,
    std::string_view data_format, std::string_view padding_algorithm);
Shape conv_transpose_weight_grad(const char* op, const Tensor& x,
                                 const Tensor& grad_out,
                                 const IntArray& weight_shape, Ints stride,
                                 Ints padding, Ints output_padding,
                                 Ints dilation, int64_t groups,
                                 const IntArray& output_size,
                                 std::string_view data_format,
                                 std::string_view padding_algorithm);

// The dtype of sums of products of x and y: promoted; float32 of 16-bit ones if
// that is wanted.
DType sums_of(const char* op, const Tensor& x, const Tensor& y,
              std::optional<DType> wanted);

// Order rules. Convolutions give images channels-last, whatever they are given;
// what else maps images to images keeps the order of x. Data that is
// [N, H, W, C] by its shape is row-major.
MemoryOrder image_order(const char* op, std::string_view data_format);
MemoryOrder order_of(const char* op, const Tensor& x,
                     std::string_view data_format);
// Of an image made from one of fewer pixels: one pixel has no order, and is
// taken for channels-last.
MemoryOrder order_of_larger(const char* op, const Tensor& x,
                            std::string_view data_format);

// The sizes of x, for rules that take sizes.
IntArray shape_of(const char* op, const Tensor& x);

// Pooling. Shapes as in ops/nn/pool_geometry.h; `dims` are the spatial ones.
Shape pool(const char* op, int64_t dims, const Tensor& x, Ints kernel_size,
           Ints stride, Ints padding, bool ceil_mode,
           std::string_view data_format, std::string_view padding_algorithm);
// input_shape, after checking that such a pooling gives the shape of grad_out.
Shape pool_grad(const char* op, const Tensor& grad_out,
                const IntArray& input_shape, Ints kernel_size, Ints stride,
                Ints padding, bool ceil_mode, std::string_view data_format,
                std::string_view padding_algorithm);
Shape avg_pool(const char* op, int64_t dims, const Tensor& x, Ints kernel_size,
               Ints stride, Ints padding, bool ceil_mode,
               std::string_view data_format,
               std::optional<double> divisor_override,
               std::string_view padding_algorithm);
Shape avg_pool_grad(const char* op, const Tensor& grad_out,
                    const IntArray& input_shape, Ints kernel_size, Ints stride,
                    Ints padding, bool ceil_mode, std::string_view data_format,
                    std::optional<double> divisor_override,
                    std::string_view padding_algorithm);
Shape adaptive_pool(const char* op, int64_t dims, const Tensor& x,
                    Ints output_size, std::string_view data_format);
Shape adaptive_pool_grad(const char* op, const Tensor& grad_out,
                         const IntArray& input_shape,
                         std::string_view data_format);
// input_shape, after checking values and indices against it.
Shape pool_scatter(const char* op, const Tensor& values, const Tensor& indices,
                   const IntArray& input_shape, std::string_view data_format);
// The shape of the image, after checking indices against x.
Shape max_unpool(const char* op, int64_t dims, const Tensor& x,
                 const Tensor& indices, Ints kernel_size, Ints stride,
                 Ints padding, const IntArray& output_size,
                 std::string_view data_format);
// The shape of indices, after checking x against it.
Shape pool_gather(const char* op, const Tensor& x, const Tensor& indices,
                  std::string_view data_format);

// The shape of x, after checking that y has the same.
Shape same_shapes(const char* op, const Tensor& x, const Tensor& y);
// The shape of x, after checking that `axis` is one and y has the same shape.
Shape same_along(const char* op, const Tensor& x, const Tensor& y,
                 int64_t axis);

// Cross entropy: the shape of x with size 1 at `axis`; hard labels have that
// shape (or lack the dim), soft ones the shape of x.
Shape cross_entropy(const char* op, const Tensor& x, const Tensor& label,
                    bool soft_label, int64_t axis);
// The shape of x, after checking label and grad_loss.
Shape cross_entropy_grad(const char* op, const Tensor& grad_loss,
                         const Tensor& x, const Tensor& label, bool soft_label,
                         int64_t axis);
// x [N, C, d...], label [N, d...], weight [C] or undefined: [N, d...].
Shape nll_loss(const char* op, const Tensor& x, const Tensor& label,
               const Tensor& weight);
Shape nll_loss_grad(const char* op, const Tensor& grad_loss,
                    const Tensor& label, const Tensor& weight,
                    const IntArray& x_shape);

// Normalization: the shape of x, after checking weight and bias.
Shape layer_norm(const char* op, const Tensor& x, const Tensor& weight,
                 const Tensor& bias, int64_t begin_axis);
Shape layer_norm_input_grad(const char* op, const Tensor& grad_out,
                            const Tensor& x, const Tensor& weight,
                            int64_t begin_axis);
// The dims of x from begin_axis on.
Shape layer_norm_weight_grad(const char* op, const Tensor& grad_out,
                             const Tensor& x, int64_t begin_axis);
// [channels], those of a batch that is more than one element for each.
Shape batch_statistics(const char* op, const Tensor& x,
                       std::string_view data_format);

Shape batch_norm(const char* op, const Tensor& x, const Tensor& mean,
                 const Tensor& variance, const Tensor& weight,
                 const Tensor& bias, std::string_view data_format);
// The same with an image that is added.
Shape batch_norm_add(const char* op, const Tensor& x, const Tensor& residual,
                     const Tensor& mean, const Tensor& variance,
                     const Tensor& weight, const Tensor& bias,
                     std::string_view data_format);
// Of a query [N, L, heads, D], key [N, S, heads, D] and value [N, S, heads, E];
// mask broadcasts to [N, heads, L, S].
Shape attention(const char* op, const Tensor& query, const Tensor& key,
                const Tensor& value, const Tensor& mask);
Shape attention_grad(const char* op, const Tensor& grad_out,
                     const Tensor& query, const Tensor& key,
                     const Tensor& value, const Tensor& mask);
// [C], after checking that x is no empty batch.
Shape channels(const char* op, const Tensor& x, std::string_view data_format);
Shape batch_norm_grad(const char* op, const Tensor& grad_out, const Tensor& x,
                      const Tensor& weight, const Tensor& mean,
                      const Tensor& inv_std, const Tensor& shift,
                      const Tensor& slope, std::string_view data_format);
Shape batch_norm_relu_grad(const char* op, const Tensor& grad_out,
                           const Tensor& x, const Tensor& weight,
                           const Tensor& bias, const Tensor& mean,
                           const Tensor& inv_std, const Tensor& shift,
                           const Tensor& slope, std::string_view data_format);
Shape batch_norm_add_relu_grad(const char* op, const Tensor& grad_out,
                               const Tensor& y, const Tensor& x,
                               const Tensor& weight, const Tensor& mean,
                               const Tensor& inv_std, const Tensor& shift,
                               const Tensor& slope,
                               std::string_view data_format);
Shape batch_norm_weight_grad(const char* op, const Tensor& grad_out,
                             const Tensor& x, const Tensor& mean,
                             const Tensor& inv_std,
                             std::string_view data_format);

// The shape of x, after checking the dropout probability and mode.
Shape dropout(const char* op, const Tensor& x, double p, std::string_view mode);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_NN_NN_INFER_H_
