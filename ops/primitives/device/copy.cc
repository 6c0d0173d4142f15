#include "ops/primitives/device/copy.h"

#include <algorithm>
#include <cstdint>

#include "tensor/copy.h"
#include "tensor/device.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops::device {
namespace {

void FillBytes(const KernelContext& ctx, const Tensor& t, uint8_t value) {
  if (t.numel() == 0) return;
  t.storage()->UseOn(ctx.stream());
  RuntimeOf(ctx.place).Fill(ctx.place.index, t.raw_data(), value, t.bytes(),
                            ctx.stream());
}

}  // namespace

Tensor BroadcastView(const Tensor& t, const Shape& shape) {
  Strides strides(shape.rank(), 0);
  const int shift = shape.rank() - t.rank();
  for (int i = 0; i < t.rank(); ++i) {
    if (t.size(i) == shape[i + shift]) strides[i + shift] = t.strides()[i];
  }
  return t.AsStrided(shape, strides, 0);
}

void Copy(const Tensor& src, const Tensor& dst) {
  if (dst.numel() == 0) return;
  CopyInto(src.shape() == dst.shape() ? src : BroadcastView(src, dst.shape()),
           dst, /*blocking=*/false);
}

Tensor Broadcast(const Tensor& t, const Shape& shape) {
  if (t.shape() == shape && t.is_contiguous()) return t;
  const Tensor out = Tensor::Empty(shape, t.dtype(), t.place());
  Copy(t, out);
  return out;
}

void Zero(const KernelContext& ctx, const Tensor& t) { FillBytes(ctx, t, 0); }

void Fill(const KernelContext& ctx, const Tensor& t, const Scalar& value) {
  if (t.numel() == 0) return;
  const Tensor one = Tensor::Empty({}, t.dtype());
  VisitDType(t.dtype(),
             [&]<typename T>(TypeTag<T>) { *one.data<T>() = value.to<T>(); });
  const auto* bytes = static_cast<const uint8_t*>(one.raw_data());
  const bool uniform = std::all_of(bytes, bytes + ItemSize(t.dtype()),
                                   [&](uint8_t b) { return b == *bytes; });
  if (uniform && t.is_contiguous()) return FillBytes(ctx, t, *bytes);
  Copy(CopyTo(one, ctx.place, /*blocking=*/false), t);
}

}  // namespace proa::inline v0::ops::device
