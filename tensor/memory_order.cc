#include "tensor/memory_order.h"

#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

bool IsImageRank(int rank) { return rank >= 3 && rank <= 5; }

bool LiesChannelsLast(const Tensor& t) {
  if (!IsImageRank(t.rank()) || t.layout() != Layout::kStrided) return false;
  if (t.numel() == 0) return t.is_contiguous();
  // From the innermost outwards: channels, the last dim to the third, images.
  if (t.size(1) != 1 && t.strides()[1] != 1) return false;
  int64_t dense = t.size(1);
  for (int d = t.rank() - 1; d >= 0; --d) {
    if (d == 1) continue;
    if (t.size(d) != 1 && t.strides()[d] != dense) return false;
    dense *= t.size(d);
  }
  return true;
}

// [N, C, ...] as [N, ..., C].
Shape WithChannelsLast(const Shape& shape) {
  Shape out{shape[0]};
  for (int d = 2; d < shape.rank(); ++d) out.push_back(shape[d]);
  out.push_back(shape[1]);
  return out;
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
  PROA_REQUIRE(IsImageRank(shape.rank()),
               "memory order: channels-last needs 3 to 5 dims; shape is ",
               ToString(shape));
  // Checks for overflow.
  const Strides last = ContiguousStrides(WithChannelsLast(shape));
  Strides strides = last;
  strides[1] = last[shape.rank() - 1];
  for (int d = 2; d < shape.rank(); ++d) strides[d] = last[d - 1];
  return strides;
}

Tensor EmptyInOrder(const Shape& shape, DType dtype, Place place,
                    MemoryOrder order) {
  Tensor out = Tensor::Empty(shape, dtype, place);
  if (order == MemoryOrder::kRowMajor || !IsImageRank(shape.rank()) ||
      out.numel() == 0) {
    return out;
  }
  return Tensor::FromStorage(out.storage(), dtype, shape,
                             StridesIn(order, shape));
}

Tensor InOrder(const Tensor& t, MemoryOrder order) {
  if (!t.defined()) return t;
  if (order == MemoryOrder::kRowMajor || !IsImageRank(t.rank()))
    return Contiguous(t);
  if (LiesIn(t, order)) return t;
  Tensor out = EmptyInOrder(t.shape(), t.dtype(), t.place(), order);
  CopyInto(t, out, /*blocking=*/false);
  return out;
}

Tensor AsNhwc(const Tensor& t) {
  const Shape shape = WithChannelsLast(t.shape());
  return Tensor::FromStorage(t.storage(), t.dtype(), shape,
                             ContiguousStrides(shape), t.storage_offset());
}

}  // namespace proa::inline v0
