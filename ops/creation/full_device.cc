// On any device: what its runtime can fill it fills, the rest is copied there.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "ops/creation/full_kernels.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "tensor/copy.h"
#include "tensor/device.h"

namespace proa::inline v0::ops::device {
namespace {

void FillOn(const KernelContext& ctx, const Scalar& value, Tensor* out) {
  if (out->numel() == 0) return;
  const Tensor one = Tensor::Empty({1}, out->dtype());
  cpu::Fill(one, value);
  const auto* bytes = static_cast<const uint8_t*>(one.raw_data());
  const int64_t item = ItemSize(out->dtype());
  if (out->is_contiguous() && std::all_of(bytes, bytes + item, [&](uint8_t b) {
        return b == *bytes;
      })) {
    out->storage()->UseOn(ctx.stream());
    RuntimeOf(ctx.place).Fill(ctx.place.index, out->raw_data(), *bytes,
                              out->bytes(), ctx.stream());
  } else {
    const Tensor host = Tensor::Empty(out->shape(), out->dtype());
    cpu::Fill(host, value);
    CopyInto(host, *out);
  }
}

}  // namespace

void Full(const KernelContext& ctx, const IntArray&, const Scalar& value,
          std::optional<DType>, std::optional<Place>, Tensor* out) {
  FillOn(ctx, value, out);
}

void FullLike(const KernelContext& ctx, const Tensor&, const Scalar& value,
              std::optional<DType>, Tensor* out) {
  FillOn(ctx, value, out);
}

}  // namespace proa::inline v0::ops::device
