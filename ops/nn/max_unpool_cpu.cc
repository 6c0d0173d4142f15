// Kernels of what goes by the places of maxima.
#include "ops/nn/float_copy.h"
#include "ops/nn/images.h"
#include "ops/nn/max_unpool_kernels.h"
#include "ops/nn/pool_geometry.h"
#include "ops/nn/pool_places.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {

void PoolScatter(const KernelContext& ctx, const Tensor& values,
                 const Tensor& indices, const IntArray& input_shape,
                 std::string_view data_format, Tensor* out) {
  const Images images(*out, data_format);
  const Tensor from = images.In(values), to = images.Out(*out);
  AddToPlaces("pool_scatter",
              IndexGeometryOf("pool_scatter", to.shape(), from.shape(),
                              images.format()),
              from, images.In(indices), to);
}

void MaxUnpool(const KernelContext& ctx, const Tensor& x, const Tensor& indices,
               std::span<const int64_t> kernel_size,
               std::span<const int64_t> stride,
               std::span<const int64_t> padding, const IntArray& output_size,
               std::string_view data_format, Tensor* out) {
  const Images images(*out, data_format);
  const Tensor from = images.In(x), to = images.Out(*out);
  PutToPlaces(
      "max_unpool",
      IndexGeometryOf("max_unpool", to.shape(), from.shape(), images.format()),
      from, images.In(indices), to);
}

void PoolGather(const KernelContext& ctx, const Tensor& x,
                const Tensor& indices, std::string_view data_format,
                Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), at = images.In(indices);
  const Tensor picked = images.Out(*out);
  const PoolGeometry g =
      IndexGeometryOf("pool_gather", in.shape(), at.shape(), images.format());
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.data<T>();
    T* to = picked.data<T>();
    ForEachPlace("pool_gather", g, at.data<int32_t>(),
                 [&](int64_t o, int64_t i) { to[o] = i < 0 ? T(0) : from[i]; });
  });
}

}  // namespace proa::inline v0::ops::cpu
