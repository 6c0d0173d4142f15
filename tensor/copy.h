// Copies of tensors: between layouts in memory and between devices.
//
//   Tensor y = CopyTo(x, ParsePlace("gpu:0"), /*blocking=*/true);
//   Tensor z = Contiguous(x.AsStrided({3, 2}, {1, 3}, 0));
//
// Elements are not converted (//ops casts) and nothing is differentiated: these
// are what kernels and the edges use. A row-sparse tensor is copied with all of
// its elements. Errors: undefined, symbolic or blocked tensors.
#ifndef PROA_TENSOR_COPY_H_
#define PROA_TENSOR_COPY_H_

#include "tensor/place.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {

// A new contiguous tensor in `place` with the elements of `x`, also if x is
// there already. Not blocking: returns when the copy is enqueued on the
// device's current stream; a result on the CPU may be read after
// Synchronize(x.place()). Memory is kept alive until the copy is done; `x` must
// not be changed by the host before.
Tensor CopyTo(const Tensor& x, Place place, bool blocking = true);

// Writes the elements of `src` into `dst` (any strides, any places). Throws
// Error unless shapes and dtypes are equal, and for read-only memory. `dst` and
// `src` may overlap. Does not count as a change for Storage::version: the op
// that calls this does that.
void CopyInto(const Tensor& src, const Tensor& dst, bool blocking = true);

// `x` itself if it is contiguous, else a contiguous copy in the same place.
Tensor Contiguous(const Tensor& x);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_COPY_H_
