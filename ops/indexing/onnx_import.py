"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

from proa import _C
from proa.onnx.import_rule import numbers, refuse, scalar, to

ops = _C.ops


def _from_front(index, size):
    """Places counted from the front."""
    index = to(index, "int64")
    return ops.where(index < 0, index + size, index)


def from_Gather(x, index, *, axis=0):
    axis = axis % len(x.shape)
    found = _from_front(index, x.shape[axis])
    if not index.shape:
        taken = ops.gather(x, ops.reshape(found, [1]), axis)
        return ops.squeeze(taken, [axis])
    if len(index.shape) == 1:
        return ops.gather(x, found, axis)
    taken = ops.gather(x, ops.reshape(found, [-1]), axis)
    return ops.reshape(taken, [*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]])


def _whole(x, index, axis):
    """That indices reach over the whole of the other dims: x cut to the indices' sizes there."""
    for d in range(len(x.shape)):
        if d != axis and x.shape[d] != index.shape[d]:
            x = ops.slice(x, [d], [0], [index.shape[d]])
    return x


def from_GatherElements(x, index, *, axis=0):
    axis = axis % len(x.shape)
    found = _from_front(index, x.shape[axis])
    return ops.take_along_axis(_whole(x, index, axis), found, axis)


def from_GatherND(x, index, *, batch_dims=0):
    depth = index.shape[-1]
    found = ops.stack([_from_front(c, x.shape[batch_dims + i]) for i, c in enumerate(ops.unbind(index, -1))], -1)
    if not batch_dims:
        return ops.gather_nd(x, found)
    rank = len(index.shape)
    parts = []
    for d in range(batch_dims):
        place = ops.arange(0, index.shape[d], 1, "int64")
        place = ops.reshape(place, [-1 if a == d else 1 for a in range(rank - 1)] + [1])
        parts.append(ops.broadcast_to(place, [*index.shape[:-1], 1]))
    del depth
    return ops.gather_nd(x, ops.concat([*parts, found], -1))


def _coordinates(index, axis):
    """For each element of the indices its place in x."""
    rank = len(index.shape)
    parts = []
    for d in range(rank):
        place = index
        if d != axis:
            place = ops.arange(0, index.shape[d], 1, "int64")
            place = ops.broadcast_to(ops.reshape(place, [-1 if a == d else 1 for a in range(rank)]), index.shape)
        parts.append(ops.reshape(place, [-1]))
    return parts


def from_ScatterElements(x, index, updates, *, axis=0, reduction="none"):
    axis = axis % len(x.shape)
    found = _from_front(index, x.shape[axis])
    places = _coordinates(found, axis)
    return _put(x, places, ops.reshape(updates, [-1]), reduction)


from_Scatter = from_ScatterElements


def _put(x, places, updates, reduction):
    axes = list(range(len(places)))
    if reduction in ("none", "add"):
        return ops.index_put(x, places, updates, axes, -1, reduction == "add")
    flat_index, size = None, 1
    for d in axes:
        flat_index = places[d] if flat_index is None else flat_index * x.shape[d] + places[d]
        size = size * x.shape[d]
    rows = ops.reshape(x, [size, -1])
    if reduction == "mul":
        wide = ops.broadcast_to(ops.reshape(flat_index, [-1, 1]), [flat_index.shape[0], rows.shape[1]])
        made = ops.put_along_axis(rows, wide, ops.reshape(updates, [flat_index.shape[0], -1]), 0, "multiply")
        return ops.reshape(made, list(x.shape))
    if reduction not in ("max", "min"):
        refuse(f"there is no reduction {reduction!r}")
    # Extremes: of the elements that go to one place by sorted segments, beside what is there.
    updates = ops.reshape(updates, [flat_index.shape[0], -1])
    order = ops.argsort(flat_index)
    places_of, updates = ops.gather(flat_index, order), ops.gather(updates, order)
    held, _, inverse, _ = ops.unique(places_of)
    function = ops.segment_max if reduction == "max" else ops.segment_min
    best = function(updates, inverse)
    there = ops.gather(rows, held)
    best = (ops.maximum if reduction == "max" else ops.minimum)(there, best)
    return ops.reshape(ops.index_put(rows, [held], best, [0], -1, False), list(x.shape))


def from_ScatterND(x, index, updates, *, reduction="none"):
    parts = [_from_front(c, x.shape[i]) for i, c in enumerate(ops.unbind(index, -1))]
    places = [ops.reshape(p, [-1]) for p in parts]
    rest = list(x.shape[len(parts) :])
    return _put(x, places, ops.reshape(updates, [places[0].shape[0], *rest]), reduction)


def from_OneHot(index, depth: numbers, values, *, axis=-1):
    n = scalar(depth)
    rank = len(index.shape) + 1
    axis = axis % rank
    found = ops.unsqueeze(_from_front(index, int(n)), [axis])
    places = ops.reshape(ops.arange(0, int(n), 1, "int64"), [-1 if a == axis else 1 for a in range(rank)])
    off, on = ops.unbind(values, 0)
    return ops.where(ops.equal(found, places), on, off)


def from_NonZero(x):
    if not x.shape:
        x = ops.reshape(x, [1])
    found = ops.nonzero(ops.not_equal(x, ops.full_like(x, 0)) if x.dtype.name != "bool" else x)
    return ops.transpose(found, [1, 0])


def from_TopK(x, k: numbers, *, axis=-1, largest=1, sorted=1):
    return tuple(ops.topk(x, int(scalar(k)), axis, bool(largest), bool(sorted)))


def from_Unique(x, *, axis=None, sorted=1):
    found, first, inverse, counts = ops.unique(ops.reshape(x, [-1]) if axis is None else x, axis)
    if sorted:
        return found, first, inverse, counts
    order = ops.argsort(first)
    rank = ops.argsort(order)
    return (
        ops.gather(found, order, 0 if axis is None else axis),
        ops.gather(first, order),
        ops.gather(rank, inverse),
        ops.gather(counts, order),
    )


def from_Compress(x, condition, *, axis=None):
    if axis is None:
        x, axis = ops.reshape(x, [-1]), 0
    chosen = ops.reshape(ops.nonzero(condition), [-1])
    return ops.gather(x, chosen, axis % len(x.shape))


def from_ReverseSequence(x, lengths, *, batch_axis=1, time_axis=0):
    if {batch_axis, time_axis} != {0, 1}:
        refuse("batch and time must be the first two dims")
    steps = x.shape[time_axis]
    places = ops.unsqueeze(ops.arange(0, steps, 1, "int64"), [batch_axis])
    ends = ops.unsqueeze(to(lengths, "int64"), [time_axis])
    index = ops.where(places < ends, ends - 1 - places, places)
    rest = len(x.shape) - 2
    index = ops.reshape(index, [*index.shape, *[1] * rest])
    return ops.take_along_axis(x, ops.broadcast_to(index, list(x.shape)), time_axis)
