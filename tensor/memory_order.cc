#include "tensor/memory_order.h"

#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

// Dims of [N, C, H, W] from the innermost outwards.
constexpr int kInnerFirst[] = {1, 3, 2, 0};

bool LiesChannelsLast(const Tensor& t) {
  if (t.rank() != 4 || t.layout() != Layout::kStrided) return false;
  if (t.numel() == 0) return t.is_contiguous();
  int64_t dense = 1;
  for (int d : kInnerFirst) {
    if (t.size(d) != 1 && t.strides()[d] != dense) return false;
    dense *= t.size(d);
  }
  return true;
}

}  // namespace

bool LiesIn(const Tensor& t, MemoryOrder order) {
  if (order == MemoryOrder::kChannelsLast) return LiesChannelsLast(t);
  return t.is_contiguous() && t.layout() == Layout::kStrided;
}

MemoryOrder OrderOf(const Tensor& t) {
  return !t.is_contiguous() && LiesChannelsLast(t) ? MemoryOrder::kChannelsLast
                                                   : MemoryOrder::kRowMajor;
}

Strides StridesIn(MemoryOrder order, const Shape& shape) {
  if (order == MemoryOrder::kRowMajor) return ContiguousStrides(shape);
  PROA_REQUIRE(shape.rank() == 4,
               "memory order: channels-last needs 4 dims; shape is ",
               ToString(shape));
  // Checks for overflow.
  const Strides nhwc =
      ContiguousStrides(Shape{shape[0], shape[2], shape[3], shape[1]});
  Strides strides = nhwc;
  strides[1] = nhwc[3];
  strides[2] = nhwc[1];
  strides[3] = nhwc[2];
  return strides;
}

Tensor EmptyInOrder(const Shape& shape, DType dtype, Place place,
                    MemoryOrder order) {
  Tensor out = Tensor::Empty(shape, dtype, place);
  if (order == MemoryOrder::kRowMajor || shape.rank() != 4 ||
      out.numel() == 0) {
    return out;
  }
  return Tensor::FromStorage(out.storage(), dtype, shape,
                             StridesIn(order, shape));
}

Tensor InOrder(const Tensor& t, MemoryOrder order) {
  if (!t.defined()) return t;
  if (order == MemoryOrder::kRowMajor || t.rank() != 4) return Contiguous(t);
  if (LiesIn(t, order)) return t;
  Tensor out = EmptyInOrder(t.shape(), t.dtype(), t.place(), order);
  CopyInto(t, out, /*blocking=*/false);
  return out;
}

Tensor AsNhwc(const Tensor& t) {
  const Shape shape{t.size(0), t.size(2), t.size(3), t.size(1)};
  return Tensor::FromStorage(t.storage(), t.dtype(), shape,
                             ContiguousStrides(shape), t.storage_offset());
}

}  // namespace proa::inline v0
