// SliceRange: which indices of a dim `start:end:stride` names, with the rules
// of Python slices: negative numbers count from the end, everything is clamped.
// Shape rules and kernels of views use it, so that they cannot disagree.
#ifndef PROA_OPS_MANIPULATION_SLICE_RANGE_H_
#define PROA_OPS_MANIPULATION_SLICE_RANGE_H_

#include <cstdint>
#include <span>

#include "tensor/shape.h"

namespace proa::inline v0::ops {

struct SliceRange {
  int64_t start = 0;   // index of the first element; 0 if there is none
  int64_t stride = 1;  // never 0; 1 if there are fewer than two elements
  int64_t size = 0;    // number of elements
};

// The range in a dim of `n` elements. `stride` must not be 0.
SliceRange ResolveSlice(int64_t n, int64_t start, int64_t end, int64_t stride);

// Shape, strides and offset (in elements) of the part of a tensor that `slice`
// takes. Throws Error for bad axes and lists; dims may be kUnknownDim, then
// `offset` and strides mean nothing.
struct SlicePart {
  Shape shape;
  Strides strides;
  int64_t offset = 0;
};
SlicePart ResolveSlices(const char* op, const Shape& shape,
                        const Strides& strides, std::span<const int64_t> axes,
                        std::span<const int64_t> starts,
                        std::span<const int64_t> ends,
                        std::span<const int64_t> steps);

// Number of elements of the diagonal of a rows x cols matrix; offset > 0 is
// above the main diagonal. 0 if it lies outside.
int64_t DiagonalLength(int64_t rows, int64_t cols, int64_t offset);

// The part that `diagonal` takes: the other dims in order, then the diagonal.
SlicePart ResolveDiagonal(const char* op, const Shape& shape,
                          const Strides& strides, int64_t offset, int64_t axis1,
                          int64_t axis2);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_MANIPULATION_SLICE_RANGE_H_
