// Coordinates of the elements that a sparse tensor holds: indices [dims, count]
// (int32 or int64, a column an element) and places, which are what they come to
// in row-major order of a shape.
#ifndef PROA_OPS_SPARSE_COORDINATES_H_
#define PROA_OPS_SPARSE_COORDINATES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {

// The places of contiguous `indices` [shape.rank(), count]. Throws Error
// kOutOfRange that names the first index outside of the shape, and Error if the
// shape has more elements than an int64 counts.
std::vector<int64_t> PlacesOf(const char* op, const Tensor& indices,
                              const Shape& shape);

// Indices [shape.rank(), count] of places in `shape`. Throws Error where one
// does not fit in `dtype`, int32 or int64.
Tensor IndicesAt(const char* op, std::span<const int64_t> places,
                 const Shape& shape, DType dtype);

// A tensor of these numbers, [count]. Throws Error where one does not fit.
Tensor NumbersIn(const char* op, std::span<const int64_t> numbers, DType dtype);

// Whether each is larger than the one before it.
bool Rise(std::span<const int64_t> places);
// Throws Error unless they rise, which those of a coalesced tensor do. `name`
// is the argument that the places come from.
void RequireCoalesced(const char* op, const char* name, const Tensor& indices,
                      std::span<const int64_t> places);

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_SPARSE_COORDINATES_H_
