// Kernels of along_axis.yaml: elements taken and put along one axis.
#include <cstdint>

#include "ops/indexing/along_axis_kernels.h"
#include "ops/primitives/cuda/gather.h"
#include "ops/primitives/cuda/index.h"
#include "ops/primitives/cuda/places.h"
#include "ops/primitives/cuda/scatter.h"
#include "ops/primitives/device/copy.h"
#include "tensor/copy.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cuda {
namespace {

// Strides of a tensor in a space of the same rank: zero where its dim is
// repeated.
Strides StridesIn(const Shape& space, const Shape& shape,
                  const Strides& strides) {
  Strides out(space.rank(), 0);
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1) out[i] = strides[i];
  }
  return out;
}

int AxisOf(const Shape& shape, int64_t axis) {
  return NormalizeAxis("along_axis", axis, shape.rank());
}

int64_t AxisSize(const Shape& shape, int64_t axis) {
  return shape.rank() == 0 ? 1 : shape[AxisOf(shape, axis)];
}

// The elements of x, of the given shape and strides, that contiguous indices
// name at each point of a space.
struct Named {
  PlacesSpace space;
  RowIndex index;
  bool distinct;  // no element is named twice

  Named(const KernelContext& ctx, const char* op, const Shape& points,
        const Tensor& indices, const Shape& x, const Strides& x_strides,
        int64_t axis)
      : index(IndexOf(ctx, op, indices, AxisSize(x, axis),
                      x.rank() == 0 ? 0 : AxisOf(x, axis))) {
    space.shape = points;
    space.index =
        StridesIn(points, indices.shape(), ContiguousStrides(indices.shape()));
    space.line = StridesIn(points, x, x_strides);
    distinct = points.rank() == 0;
    if (points.rank() == 0) return;
    const int a = AxisOf(x, axis);
    space.step = x_strides[a];
    space.line[a] = 0;
    distinct = points[a] <= 1;
    for (int i = 0; i < points.rank(); ++i) {
      if (i != a && x[i] == 1 && points[i] != 1) distinct = false;
    }
  }
};

// The index space of a put: what value is broadcast to.
Shape SpaceOf(const Shape& x, const Shape& indices, int64_t axis) {
  Shape space = indices;
  for (int i = 0; i < space.rank(); ++i) {
    if (i != AxisOf(x, axis) && space[i] == 1) space[i] = x[i];
  }
  return space;
}

// Puts into a contiguous `out`: calls put(rows, values), with the elements of
// out as rows of one.
template <class Put>
void PutInto(const KernelContext& ctx, const char* op, const Tensor& indices,
             const Tensor& value, int64_t axis, Tensor* out, const Put& put) {
  const Shape space = SpaceOf(out->shape(), indices.shape(), axis);
  const int64_t count = space.numel();
  if (count == 0) return;
  const Tensor flat = Contiguous(indices);
  const Named named(ctx, op, space, flat, out->shape(),
                    ContiguousStrides(out->shape()), axis);
  const Tensor values = device::Broadcast(value, space);
  const Workspace places(ctx, count * int64_t{sizeof(int64_t)});
  ListPlaces(ctx, named.space, named.index, places.as<int64_t>());
  put(SortedRows(ctx, ResolvedIndex(places.as<int64_t>(), count, out->numel()),
                 named.distinct),
      values);
}

}  // namespace

void TakeAlongAxis(const KernelContext& ctx, const Tensor& x,
                   const Tensor& indices, int64_t axis, Tensor* out) {
  if (out->numel() == 0) return;
  const Tensor flat = Contiguous(indices);
  const Named named(ctx, "take_along_axis", out->shape(), flat, x.shape(),
                    x.strides(), axis);
  TakePlaces(ctx, named.space, named.index, ItemSize(x.dtype()), x.raw_data(),
             out->raw_data());
}

void TakeAlongAxisGrad(const KernelContext& ctx, const Tensor& dy,
                       const Tensor& indices, const IntArray&, int64_t axis,
                       Tensor* out) {
  device::Zero(ctx, *out);
  PutInto(ctx, "take_along_axis_grad", indices, dy, axis, out,
          [&](const SortedRows& rows, const Tensor& values) {
            ScatterAddRows(ctx, out->dtype(), 1, 1, rows, values.raw_data(),
                           out->raw_data());
          });
}

void PutAlongAxisAssign(const KernelContext& ctx, const Tensor& x,
                        const Tensor& indices, const Tensor& value,
                        int64_t axis, Tensor* out) {
  device::Copy(x, *out);
  PutInto(ctx, "put_along_axis_assign", indices, value, axis, out,
          [&](const SortedRows& rows, const Tensor& values) {
            ScatterRows(ctx, 1, ItemSize(out->dtype()), rows, values.raw_data(),
                        out->raw_data());
          });
}

void PutAlongAxisValueGrad(const KernelContext& ctx, const Tensor& dy,
                           const Tensor& indices, int64_t axis, Tensor* out) {
  const int64_t count = out->numel();
  if (count == 0) return;
  const Tensor flat = Contiguous(indices), from = Contiguous(dy);
  const Named named(ctx, "put_along_axis_value_grad", out->shape(), flat,
                    from.shape(), from.strides(), axis);
  const Workspace places(ctx, count * int64_t{sizeof(int64_t)});
  ListPlaces(ctx, named.space, named.index, places.as<int64_t>());
  const RowIndex all = ResolvedIndex(places.as<int64_t>(), count, from.numel());
  if (!named.distinct) {
    LastWriters(ctx, SortedRows(ctx, all), places.as<int64_t>());
  }
  GatherRows(ctx, 1, ItemSize(dy.dtype()), all, from.raw_data(),
             out->raw_data());
}

void PutAlongAxisAdd(const KernelContext& ctx, const Tensor& x,
                     const Tensor& indices, const Tensor& value, int64_t axis,
                     Tensor* out) {
  device::Copy(x, *out);
  PutInto(ctx, "put_along_axis_add", indices, value, axis, out,
          [&](const SortedRows& rows, const Tensor& values) {
            ScatterAddRows(ctx, out->dtype(), 1, 1, rows, values.raw_data(),
                           out->raw_data());
          });
}

void PutAlongAxisMultiply(const KernelContext& ctx, const Tensor& x,
                          const Tensor& indices, const Tensor& value,
                          int64_t axis, Tensor* out) {
  device::Copy(x, *out);
  PutInto(ctx, "put_along_axis_multiply", indices, value, axis, out,
          [&](const SortedRows& rows, const Tensor& values) {
            ScatterMulRows(ctx, out->dtype(), 1, 1, rows, values.raw_data(),
                           out->raw_data());
          });
}

}  // namespace proa::inline v0::ops::cuda
