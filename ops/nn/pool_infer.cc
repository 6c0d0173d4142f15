// Order rules of images, and shape rules of pooling.
#include "ops/nn/infer_checks.h"
#include "ops/nn/nn_infer.h"
#include "ops/nn/pool_geometry.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {

MemoryOrder image_order(const char*, std::string_view data_format) {
  return HasChannelsFirst(data_format) ? MemoryOrder::kChannelsLast
                                       : MemoryOrder::kRowMajor;
}

MemoryOrder order_of(const char*, const Tensor& x,
                     std::string_view data_format) {
  return HasChannelsFirst(data_format) ? OrderOf(x) : MemoryOrder::kRowMajor;
}

MemoryOrder order_of_larger(const char* op, const Tensor& x,
                            std::string_view data_format) {
  if (HasChannelsFirst(data_format) && LiesIn(x, MemoryOrder::kChannelsLast))
    return MemoryOrder::kChannelsLast;
  return order_of(op, x, data_format);
}

IntArray shape_of(const char* op, const Tensor& x) { return x.shape(); }

Shape pool(const char* op, int64_t dims, const Tensor& x, Ints kernel_size,
           Ints stride, Ints padding, bool ceil_mode,
           std::string_view data_format, std::string_view padding_algorithm) {
  return PoolGeometryOf(op, x.shape(),
                        {kernel_size, stride, padding, ceil_mode, data_format,
                         padding_algorithm},
                        static_cast<int>(dims))
      .OutputShape();
}

Shape pool_grad(const char* op, const Tensor& grad_out,
                const IntArray& input_shape, Ints kernel_size, Ints stride,
                Ints padding, bool ceil_mode, std::string_view data_format,
                std::string_view padding_algorithm) {
  const PoolGeometry g =
      PoolGeometryOf(op, Shape(input_shape.values()),
                     {kernel_size, stride, padding, ceil_mode, data_format,
                      padding_algorithm});
  PROA_REQUIRE(ShapesFit(g.OutputShape(), grad_out.shape()), op,
               ": grad_out is ", ToString(grad_out.shape()), "; pooling ",
               ToString(g.InputShape()), " gives ", ToString(g.OutputShape()));
  return g.InputShape();
}

namespace {

void RequireDivisor(const char* op, std::optional<double> divisor_override) {
  PROA_REQUIRE(!divisor_override || *divisor_override != 0, op,
               ": divisor_override is 0");
}

// Batch and channels of two image tensors must agree.
void RequireSameImages(const char* op, const Shape& a, const Shape& b,
                       std::string_view data_format) {
  const ImageFormat format = ReadFormat(op, data_format);
  PROA_REQUIRE(a.rank() == format.rank() && b.rank() == format.rank(), op,
               ": tensors must have ", format.rank(), " dims (", data_format,
               "); they are ", ToString(a), " and ", ToString(b));
  const int c = format.channel_dim();
  PROA_REQUIRE(!Differ(a[0], b[0]) && !Differ(a[c], b[c]), op,
               ": numbers or channels of the images differ; they are ",
               ToString(a), " and ", ToString(b));
}

void RequireIndices(const char* op, const Tensor& values,
                    const Tensor& indices) {
  PROA_REQUIRE(indices.dtype() == DType::kInt32, op,
               ": indices must be int32; they are ", Describe(indices));
  PROA_REQUIRE(ShapesFit(values.shape(), indices.shape()), op,
               ": shapes differ; values is ", Describe(values), ", indices is ",
               Describe(indices));
}

}  // namespace

Shape avg_pool(const char* op, int64_t dims, const Tensor& x, Ints kernel_size,
               Ints stride, Ints padding, bool ceil_mode,
               std::string_view data_format,
               std::optional<double> divisor_override,
               std::string_view padding_algorithm) {
  RequireDivisor(op, divisor_override);
  return pool(op, dims, x, kernel_size, stride, padding, ceil_mode, data_format,
              padding_algorithm);
}

Shape avg_pool_grad(const char* op, const Tensor& grad_out,
                    const IntArray& input_shape, Ints kernel_size, Ints stride,
                    Ints padding, bool ceil_mode, std::string_view data_format,
                    std::optional<double> divisor_override,
                    std::string_view padding_algorithm) {
  RequireDivisor(op, divisor_override);
  return pool_grad(op, grad_out, input_shape, kernel_size, stride, padding,
                   ceil_mode, data_format, padding_algorithm);
}

Shape adaptive_pool(const char* op, int64_t dims, const Tensor& x,
                    Ints output_size, std::string_view data_format) {
  return AdaptivePoolGeometryOf(op, x.shape(), output_size, data_format,
                                static_cast<int>(dims))
      .OutputShape();
}

Shape adaptive_pool_grad(const char* op, const Tensor& grad_out,
                         const IntArray& input_shape,
                         std::string_view data_format) {
  const Shape in(input_shape.values());
  RequireSameImages(op, grad_out.shape(), in, data_format);
  const int64_t one[] = {1};
  const ImageFormat format =
      AdaptivePoolGeometryOf(op, in, one, data_format).format;
  for (int d = 0; d < format.dims; ++d)
    PROA_REQUIRE(grad_out.size(format.spatial_dim(d)) != 0, op,
                 ": grad_out has no elements along dim ", format.spatial_dim(d),
                 "; it is ", Describe(grad_out));
  return in;
}

Shape pool_scatter(const char* op, const Tensor& values, const Tensor& indices,
                   const IntArray& input_shape, std::string_view data_format) {
  const Shape in(input_shape.values());
  for (int64_t d : in)
    PROA_REQUIRE(d >= 0 || IsUnknown(d), op, ": input_shape ", ToString(in),
                 " has a negative size");
  RequireIndices(op, values, indices);
  RequireSameImages(op, values.shape(), in, data_format);
  in.numel();  // throws if the product overflows
  return in;
}

Shape max_unpool(const char* op, int64_t dims, const Tensor& x,
                 const Tensor& indices, Ints kernel_size, Ints stride,
                 Ints padding, const IntArray& output_size,
                 std::string_view data_format) {
  const Shape out = UnpooledShape(
      op, x.shape(),
      {kernel_size, stride, padding, output_size.values(), data_format},
      static_cast<int>(dims));
  RequireIndices(op, x, indices);
  out.numel();  // throws if the product overflows
  return out;
}

Shape pool_gather(const char* op, const Tensor& x, const Tensor& indices,
                  std::string_view data_format) {
  PROA_REQUIRE(indices.dtype() == DType::kInt32, op,
               ": indices must be int32; they are ", Describe(indices));
  RequireSameImages(op, x.shape(), indices.shape(), data_format);
  return indices.shape();
}

}  // namespace proa::inline v0::ops::infer
