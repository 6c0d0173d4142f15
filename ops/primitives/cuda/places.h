// Elements named by an index along one dim of a strided block: take_along_axis,
// put_along_axis, and NumPy's indices that do not move whole rows.
//
// A point of a space names the element line + index * step: `line` follows from
// the coordinates of the point, `index` is read at the point.
#ifndef PROA_OPS_PRIMITIVES_CUDA_PLACES_H_
#define PROA_OPS_PRIMITIVES_CUDA_PLACES_H_

#include <cstdint>

#include "ops/kernel.h"
#include "ops/primitives/cuda/index.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cuda {

struct PlacesSpace {
  Shape shape;
  // For each dim of the space, in elements; zero where it is repeated.
  Strides index, line;
  int64_t step = 1;
};

// out[p] = x[place of p], contiguous; elements of `item_size` bytes, zero where
// the index names none.
void TakePlaces(const KernelContext& ctx, const PlacesSpace& space,
                const RowIndex& index, int64_t item_size, const void* x,
                void* out);

// list[p] = place of p; -1 where the index names none.
void ListPlaces(const KernelContext& ctx, const PlacesSpace& space,
                const RowIndex& index, int64_t* list);

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_PLACES_H_
