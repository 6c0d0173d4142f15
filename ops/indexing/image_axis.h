// Kernels along an axis of images that may lie channels-last.
#ifndef PROA_OPS_INDEXING_IMAGE_AXIS_H_
#define PROA_OPS_INDEXING_IMAGE_AXIS_H_

#include <cstdint>

#include "tensor/copy.h"
#include "tensor/memory_order.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// Two dense tensors of which the same axis is another size, as row-major ones,
// and where their axis is then.
struct AlongAxis {
  Tensor x, out;
  int64_t axis;
};

// `out` is row-major, or lies channels-last as `x` does: then both are
// [N, ..., C]. An x that lies otherwise is copied.
inline AlongAxis InOneOrder(const Tensor& x, const Tensor& out, int64_t axis) {
  const int rank = x.rank();
  if (OrderOf(out) != MemoryOrder::kChannelsLast)
    return {Contiguous(x), out, axis};
  const int at = NormalizeAxis("gather", axis, rank);
  return {AsNhwc(InOrder(x, MemoryOrder::kChannelsLast)), AsNhwc(out),
          at == 0   ? 0
          : at == 1 ? rank - 1
                    : at - 1};
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_INDEXING_IMAGE_AXIS_H_
