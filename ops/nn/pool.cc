// Composites around pooling.
#include "ops/nn/pool_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

Tensor MaxPool2dPick(const Tensor& values, const Tensor& x,
                     std::span<const int64_t> kernel_size,
                     std::span<const int64_t> stride,
                     std::span<const int64_t> padding, bool ceil_mode,
                     std::string_view data_format) {
  const auto [out, indices] = max_pool2d_with_index(
      x, kernel_size, stride, padding, ceil_mode, data_format);
  return pool2d_gather(values, indices, data_format);
}

Tensor AdaptiveAvgPool2dLike(const Tensor& x, const IntArray& out_shape,
                             std::string_view data_format) {
  PROA_REQUIRE(out_shape.size() == 4,
               "adaptive_avg_pool2d_like: out_shape must be 4 sizes; it has ",
               out_shape.size());
  const int first = data_format == "NHWC" ? 1 : 2;
  const int64_t size[] = {out_shape[first], out_shape[first + 1]};
  PROA_REQUIRE(size[0] != kUnknownDim && size[1] != kUnknownDim,
               "adaptive_avg_pool2d_like: the height and width must be known");
  return adaptive_avg_pool2d(x, size, data_format);
}

}  // namespace proa::inline v0::ops
