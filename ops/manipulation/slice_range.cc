#include "ops/manipulation/slice_range.h"

#include <algorithm>

#include "tensor/error.h"

namespace proa::inline v0::ops {

SliceRange ResolveSlice(int64_t n, int64_t start, int64_t end, int64_t stride) {
  const int64_t lowest = stride < 0 ? -1 : 0;
  const int64_t highest = stride < 0 ? n - 1 : n;
  const auto clamp = [&](int64_t i) {
    return i < 0 ? std::max(i + n, lowest) : std::min(i, highest);
  };
  start = clamp(start);
  end = clamp(end);
  const int64_t length = stride < 0 ? start - end : end - start;
  if (length <= 0) return {0, 1, 0};
  // Unsigned, because the smallest int64 has no negative.
  const uint64_t step = stride < 0 ? uint64_t{0} - static_cast<uint64_t>(stride)
                                   : static_cast<uint64_t>(stride);
  const int64_t size =
      static_cast<int64_t>((static_cast<uint64_t>(length) - 1) / step) + 1;
  return {start, size < 2 ? 1 : stride, size};
}

SlicePart ResolveSlices(const char* op, const Shape& shape,
                        const Strides& strides, std::span<const int64_t> axes,
                        std::span<const int64_t> starts,
                        std::span<const int64_t> ends,
                        std::span<const int64_t> steps) {
  PROA_REQUIRE(
      axes.size() == starts.size() && axes.size() == ends.size() &&
          (steps.empty() || steps.size() == axes.size()),
      op, ": axes, starts, ends and strides must be of one length; axes has ",
      axes.size(), " entries, starts ", starts.size(), ", ends ", ends.size(),
      ", strides ", steps.size());
  SlicePart part{shape, strides, 0};
  uint64_t seen = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    PROA_REQUIRE(shape.rank() > 0, op, ": a 0-d tensor has no axis to slice");
    const int axis = NormalizeAxis(op, axes[k], shape.rank());
    PROA_REQUIRE((seen >> axis & 1) == 0, op, ": axis ", axis,
                 " is given twice; axes is ", ToString(axes));
    seen |= uint64_t{1} << axis;
    const int64_t step = steps.empty() ? 1 : steps[k];
    PROA_REQUIRE(step != 0, op, ": stride of axis ", axis, " is zero");
    const int64_t n = shape[axis];
    if (IsUnknown(n)) {
      part.shape[axis] = kUnknownDim;
      continue;
    }
    const SliceRange range = ResolveSlice(n, starts[k], ends[k], step);
    part.shape[axis] = range.size;
    if (strides.empty()) continue;
    part.offset += range.start * strides[axis];
    part.strides[axis] = strides[axis] * range.stride;
  }
  for (int64_t d : part.shape) {
    if (d == 0) part.offset = 0;
  }
  return part;
}

int64_t DiagonalLength(int64_t rows, int64_t cols, int64_t offset) {
  const int64_t length = offset >= 0 ? std::min(rows, cols - offset)
                                     : std::min(rows + offset, cols);
  return std::max<int64_t>(length, 0);
}

SlicePart ResolveDiagonal(const char* op, const Shape& shape,
                          const Strides& strides, int64_t offset, int64_t axis1,
                          int64_t axis2) {
  const int a = NormalizeAxis(op, axis1, shape.rank());
  const int b = NormalizeAxis(op, axis2, shape.rank());
  PROA_REQUIRE(a != b, op, ": axes ", axis1, " and ", axis2,
               " are the same dim of x, which has ", shape.rank(), " dims");
  SlicePart part;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i == a || i == b) continue;
    part.shape.push_back(shape[i]);
    if (!strides.empty()) part.strides.push_back(strides[i]);
  }
  const bool known = !IsUnknown(shape[a]) && !IsUnknown(shape[b]);
  const int64_t length =
      known ? DiagonalLength(shape[a], shape[b], offset) : kUnknownDim;
  part.shape.push_back(length);
  if (!strides.empty()) {
    part.strides.push_back(strides[a] + strides[b]);
    if (part.shape.numel() > 0) {
      part.offset = offset >= 0 ? offset * strides[b] : -offset * strides[a];
    }
  }
  return part;
}

}  // namespace proa::inline v0::ops
