// Composites around pooling.
#include "ops/nn/adaptive_pool_ops.h"
#include "ops/nn/avg_pool_ops.h"
#include "ops/nn/max_pool_ops.h"
#include "ops/nn/max_unpool_ops.h"
#include "ops/nn/window.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

Tensor MaxPoolPick(const Tensor& values, const Tensor& x,
                   std::span<const int64_t> kernel_size,
                   std::span<const int64_t> stride,
                   std::span<const int64_t> padding, bool ceil_mode,
                   std::string_view data_format,
                   std::string_view padding_algorithm) {
  const auto of = [&](auto pool) {
    return std::get<1>(pool(x, kernel_size, stride, padding, ceil_mode,
                            data_format, padding_algorithm));
  };
  const int dims = ReadFormat("max_pool_pick", data_format).dims;
  return pool_gather(values,
                     dims == 1   ? of(max_pool1d_with_index)
                     : dims == 2 ? of(max_pool2d_with_index)
                                 : of(max_pool3d_with_index),
                     data_format);
}

Tensor AvgPool(const Tensor& x, std::span<const int64_t> kernel_size,
               std::span<const int64_t> stride,
               std::span<const int64_t> padding, bool ceil_mode, bool exclusive,
               std::string_view data_format,
               std::optional<double> divisor_override,
               std::string_view padding_algorithm) {
  const auto of = [&](auto pool) {
    return pool(x, kernel_size, stride, padding, ceil_mode, exclusive,
                data_format, divisor_override, padding_algorithm);
  };
  const int dims = ReadFormat("avg_pool", data_format).dims;
  return dims == 1   ? of(avg_pool1d)
         : dims == 2 ? of(avg_pool2d)
                     : of(avg_pool3d);
}

Tensor AdaptiveAvgPoolLike(const Tensor& x, const IntArray& out_shape,
                           std::string_view data_format) {
  const ImageFormat format = ReadFormat("adaptive_avg_pool_like", data_format);
  PROA_REQUIRE(out_shape.size() == format.rank(),
               "adaptive_avg_pool_like: out_shape must be ", format.rank(),
               " sizes; it has ", out_shape.size());
  int64_t sizes[kMostSpatialDims];
  for (int d = 0; d < format.dims; ++d) {
    sizes[d] = out_shape[format.spatial_dim(d)];
    PROA_REQUIRE(!IsUnknown(sizes[d]), "adaptive_avg_pool_like: the ",
                 format.dim_name(d), " must be known");
  }
  const std::span<const int64_t> size(sizes, format.dims);
  return format.dims == 1   ? adaptive_avg_pool1d(x, size, data_format)
         : format.dims == 2 ? adaptive_avg_pool2d(x, size, data_format)
                            : adaptive_avg_pool3d(x, size, data_format);
}

}  // namespace proa::inline v0::ops
