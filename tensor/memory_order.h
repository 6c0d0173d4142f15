// MemoryOrder: in which order the dims of a dense tensor lie in memory.
//
// Images [N, C, H, W] may lie channels-last: the strides of a contiguous
// [N, H, W, C] under the shape [N, C, H, W], which is what convolutions compute
// in; likewise [N, C, L] and [N, C, D, H, W]. Such a tensor is an ordinary
// strided one, so that every op and view works on it; ops on images and
// elementwise ops hand the order on (docs/notes/layouts.md).
#ifndef PROA_TENSOR_MEMORY_ORDER_H_
#define PROA_TENSOR_MEMORY_ORDER_H_

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/place.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {

enum class MemoryOrder : uint8_t { kRowMajor, kChannelsLast };

// Whether the elements of `t` are dense in memory in `order`. Both are true of
// a tensor with one channel or one pixel. False for kChannelsLast unless `t`
// has 3 to 5 dims, and for tensors that are not strided.
bool LiesIn(const Tensor& t, MemoryOrder order);

// kChannelsLast if `t` lies so and not in row-major order too.
MemoryOrder OrderOf(const Tensor& t);

// Of a dense tensor; kChannelsLast needs 3 to 5 dims.
Strides StridesIn(MemoryOrder order, const Shape& shape);

// Uninitialized. Shapes of other than 3 to 5 dims are made row-major.
Tensor EmptyInOrder(const Shape& shape, DType dtype, Place place,
                    MemoryOrder order);

// `t` itself if it lies in `order`, else a copy that does, in the same place.
// Of other than 3 to 5 dims, and undefined: as for kRowMajor.
Tensor InOrder(const Tensor& t, MemoryOrder order);

// A contiguous [N, H, W, C] alias of an [N, C, H, W] that lies channels-last;
// of 3 and 5 dims likewise.
// For kernels: no history, no link.
Tensor AsNhwc(const Tensor& t);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_MEMORY_ORDER_H_
