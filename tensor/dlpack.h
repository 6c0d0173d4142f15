// Tensors from and to other libraries through DLPack 1.x, without copying.
//
//   dlpack::ManagedTensorVersioned* out = ToDLPack(t);       // the consumer's
//   now Tensor t = FromDLPack(out);                              // ours now
//
// The capsules around these structs, streams and `copy=` are the Python edge's
// part.
#ifndef PROA_TENSOR_DLPACK_H_
#define PROA_TENSOR_DLPACK_H_

#include <cstdint>

#include "tensor/dlpack_abi.h"
#include "tensor/dtype.h"
#include "tensor/place.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {

// The result keeps the storage alive until its deleter is called, on any
// thread. `copied`: says to the consumer that nobody else sees this memory.
// Throws Error for undefined, symbolic and blocked tensors.
dlpack::ManagedTensorVersioned* ToDLPack(const Tensor& t, bool copied = false);
// For consumers that know no versions. Cannot say read-only, so throws Error
// for such tensors.
dlpack::ManagedTensor* ToDLPackLegacy(const Tensor& t);

// A tensor over the producer's memory, which is given back (the deleter called)
// with its last view. Ownership passes only if this returns: after an Error
// `managed` is still the caller's. Read-only memory stays so. Any strides,
// offsets and a null deleter are fine; an Error is thrown for a newer major
// version, types and devices that are not ours, lanes, sizes that overflow, and
// misaligned elements.
Tensor FromDLPack(dlpack::ManagedTensorVersioned* managed);
Tensor FromDLPack(dlpack::ManagedTensor* managed);

// Throws Error if there is no counterpart.
dlpack::Device DLPackDevice(Place place);
Place PlaceOfDLPack(dlpack::Device device);
dlpack::DataType DLPackType(DType dtype);
DType DTypeOfDLPack(dlpack::DataType type);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_DLPACK_H_
