"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

from proa.onnx.rule import (
    Value,
    axes_of,
    cast,
    constant,
    filled,
    ints,
    late,
    like,
    onnx,
    promoted,
    refuse,
    result,
    size,
    sizes,
)


def _indices(index):
    return index if index.dtype in ("int32", "int64") else cast(index, "int64")


def onnx_gather(x, index, axis):
    return onnx.Gather(x, _indices(index), axis=axis % x.rank)


def onnx_embedding(x, weight, padding_idx, sparse):
    rows = onnx.Gather(weight, x, axis=0)
    if padding_idx == -1:
        return rows
    return onnx.Where(onnx.Unsqueeze(onnx.Equal(x, padding_idx), axes=[x.rank]), 0.0, rows)


def onnx_gather_nd(x, index):
    return onnx.GatherND(x, cast(index, "int64"))


def onnx_one_hot(x, num_classes, dtype):
    if x.rank == 0:
        return onnx.Squeeze(
            onnx_one_hot(like(onnx.Reshape(x, [1]), constant([0], "int64")), num_classes, dtype), axes=[0]
        )
    return onnx.OneHot(x, constant(num_classes, "int64"), constant([0, 1], dtype), axis=-1)


def onnx_drop_dims(x, axis):
    return onnx.Squeeze(x, axes=axes_of(axis, x)) if axis else onnx.Identity(x)


# Along an axis -----------------------------------------------------------------------------------------------------------


def _fitting(x, indices, axis):
    """Indices with the other sizes of x."""
    others = [a for a in range(x.rank) if a != axis % x.rank]
    if all(indices.shape[a] == x.shape[a] for a in others):
        return indices
    parts = [size(indices if a == axis % x.rank else x, a) for a in range(x.rank)]
    if any(indices.shape[a] > 1 and x.shape[a] >= 0 and indices.shape[a] != x.shape[a] for a in others):
        return indices
    return onnx.Expand(indices, onnx.Concat(*parts, axis=0))


def onnx_take_along_axis(x, indices, axis):
    return onnx.GatherElements(x, _fitting(x, _indices(indices), axis), axis=axis % x.rank)


def _put(reduction):
    def rule(x, indices, value, axis):
        if any(a != axis % x.rank and 0 <= x.shape[a] < indices.shape[a] for a in range(x.rank)):
            refuse("indices that are longer than x along other dims", "broadcast x before")
        indices = _fitting(x, _indices(indices), axis)
        value = onnx.Expand(cast(value, x.dtype), sizes(indices) if indices.shape is not None else onnx.Shape(indices))
        return onnx.ScatterElements(x, indices, value, axis=axis % x.rank, reduction=reduction)

    return rule


onnx_put_along_axis_assign = _put(None)
onnx_put_along_axis_add = _put("add")
onnx_put_along_axis_multiply = _put("mul")


# Scatter -----------------------------------------------------------------------------------------------------------------


def onnx_scatter(x, index, updates, overwrite):
    at = onnx.Reshape(cast(index, "int64"), [-1, 1])
    updates = cast(updates, x.dtype)
    if index.rank == 0:
        updates = onnx.Unsqueeze(updates, axes=[0])
    if overwrite:
        return onnx.ScatterND(x, at, updates)
    zeros = updates * 0
    return onnx.ScatterND(onnx.ScatterND(x, at, zeros), at, updates, reduction="add")


def onnx_scatter_nd_add(x, index, updates):
    return onnx.ScatterND(x, cast(index, "int64"), cast(updates, x.dtype), reduction="add")


def onnx_scatter_nd(index, updates, shape: late):
    return onnx.ScatterND(filled(0, updates.dtype, ints(shape)), cast(index, "int64"), updates, reduction="add")


# Indices of several dims -------------------------------------------------------------------------------------------------


def _front(axes, rank):
    """An order of dims with the indexed ones in front, and where each dim goes back to."""
    order = [*axes, *(a for a in range(rank) if a not in axes)]
    return order, [order.index(a) for a in range(rank)]


def _index_rank(indices):
    return max(i.rank for i in indices)


def _position(axes, position):
    if position != -1:
        return position
    return axes[0] if list(axes) == list(range(axes[0], axes[0] + len(axes))) else 0


def onnx_index_get(x, indices, axes, position):
    axes = [a % x.rank for a in axes]
    rank = _index_rank(indices)
    at = _position(axes, position)
    if len(axes) == 1 and at == axes[0]:
        return onnx.Gather(x, cast(indices[0], "int64"), axis=axes[0])
    order, _ = _front(axes, x.rank)
    side_by_side = onnx.Concat(*[onnx.Unsqueeze(i, axes=[rank]) for i in _broadcast(indices)], axis=rank)
    made = onnx.GatherND(onnx.Transpose(x, perm=order) if order != list(range(x.rank)) else x, side_by_side)
    if at == 0:
        return made
    rest = x.rank - len(axes)
    return onnx.Transpose(made, perm=[*range(rank, rank + at), *range(rank), *range(rank + at, rank + rest)])


def _broadcast(indices):
    """Indices of one shape."""
    indices = [cast(i, "int64") for i in indices]
    if all(i.shape == indices[0].shape for i in indices):
        return indices
    nothing = indices[0] * 0
    for i in indices[1:]:
        nothing = nothing + i * 0
    return [i + nothing for i in indices]


def onnx_index_put(x, indices, value, axes, position, accumulate):
    axes = [a % x.rank for a in axes]
    rank, at = _index_rank(indices), _position(axes, position)
    order, back = _front(axes, x.rank)
    side_by_side = onnx.Concat(*[onnx.Unsqueeze(i, axes=[rank]) for i in _broadcast(indices)], axis=rank)
    moved = onnx.Transpose(x, perm=order)
    rest = x.rank - len(axes)
    value = cast(value, x.dtype)
    taken = onnx.Shape(onnx.GatherND(moved, side_by_side))  # [dims of indices, the rest]
    if at:
        # The value has the dims of indices at `at`: all dims, then those in front.
        places = [*range(rank, rank + at), *range(rank), *range(rank + at, rank + rest)]
        full = onnx.Expand(value, onnx.Gather(taken, constant(places, "int64"), axis=0))
        full = onnx.Transpose(full, perm=[*range(at, at + rank), *range(at), *range(at + rank, rank + rest)])
    else:
        full = onnx.Expand(value, taken)
    made = onnx.ScatterND(moved, side_by_side, full, reduction="add" if accumulate else None)
    return onnx.Transpose(made, perm=back)


def onnx_slice_set(x, value, axes, starts, ends, strides):
    numbers = onnx.Reshape(onnx.Range(0, onnx.Size(x), 1), sizes(x))
    part = onnx.Slice(numbers, starts=starts, ends=ends, axes=[a % x.rank for a in axes], steps=strides or None)
    value = onnx.Reshape(onnx.Expand(cast(value, x.dtype), onnx.Shape(part)), [-1])
    made = onnx.ScatterElements(onnx.Reshape(x, [-1]), onnx.Reshape(part, [-1]), value, axis=0)
    return onnx.Reshape(made, sizes(x))


# Order -------------------------------------------------------------------------------------------------------------------


def onnx_topk(x, k: late, axis, largest, sorted):
    if x.rank == 0:
        return onnx.Identity(x), constant(0, "int64")
    if not isinstance(k, Value) and k == 0:
        nothing = onnx.Slice(x, starts=[0], ends=[0], axes=[axis % x.rank])
        return nothing, cast(nothing, "int64")
    count = ints(k) if isinstance(k, Value) else [k]
    return onnx.TopK(x, k=count, axis=axis % x.rank, largest=None if largest else 0)


def onnx_sort(x, axis, descending):
    if x.rank == 0:
        return onnx.Identity(x), constant(0, "int64")
    return onnx.TopK(x, k=size(x, axis % x.rank), axis=axis % x.rank, largest=None if descending else 0)


def onnx_argsort(x, axis, descending):
    return onnx_sort(x, axis, descending)[1]


def onnx_kthvalue(x, k, axis, keepdim):
    if x.rank == 0:
        return onnx.Identity(x), constant(0, "int64")
    axis %= x.rank
    made = onnx.TopK(x, k=[k], axis=axis, largest=0)
    last = [onnx.Slice(v, starts=[k - 1], ends=[k], axes=[axis]) for v in made]
    return last if keepdim else [onnx.Squeeze(v, axes=[axis]) for v in last]


def onnx_searchsorted(sorted_sequence, values, out_int32, right):
    rows, wanted_values = promoted(sorted_sequence, values)
    rank = wanted_values.rank
    left = onnx.Unsqueeze(wanted_values, axes=[rank])
    beside = rows if rows.shape is not None and rows.rank <= 1 else onnx.Unsqueeze(rows, axes=[rank - 1])
    before = onnx.Not(onnx.Less(left, beside) if right else onnx.LessOrEqual(left, beside))
    return cast(onnx.ReduceSum(onnx.Cast(before, to="int64"), axes=[rank], keepdims=0), result().dtype)


# What depends on elements ------------------------------------------------------------------------------------------------


def onnx_nonzero(x):
    if x.rank == 0:
        refuse("nonzero of a tensor without dims")
    return onnx.Transpose(onnx.NonZero(x), perm=[1, 0])


def onnx_masked_select(x, mask):
    if x.shape != mask.shape:
        x, mask = onnx.Expand(x, sizes(mask)), onnx.Expand(mask, sizes(x))
    return onnx.Compress(onnx.Reshape(x, [-1]), onnx.Reshape(mask, [-1]), axis=0)


def onnx_unique(x, axis):
    if x.rank == 0:
        x = like(onnx.Reshape(x, [1]), constant([0], "int64"))
    if 0 in x.shape:
        refuse("unique of no elements")
    named = {} if axis is None else {"axis": axis % x.rank}
    return onnx.Unique(x, sorted=1, outputs=4, **named)
