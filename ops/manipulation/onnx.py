"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

import numpy as np

from proa.onnx.rule import (
    Value,
    axes_of,
    cast,
    constant,
    ints,
    known_size,
    late,
    onnx,
    refuse,
    reshaped,
    result,
    results,
    size,
    sizes,
)

_FAR = 2**62  # ends of slices beyond all sizes


def _result_shape(given):
    """The shape of the result where all but one of its sizes are known, else what was given."""
    known = result().shape
    return known if sum(d < 0 for d in known) <= 1 or not isinstance(given, Value) else ints(given)


def onnx_reshape(x, shape: late):
    return reshaped(x, _result_shape(shape))


def onnx_flatten(x, start_axis, stop_axis):
    if x.rank == 0:
        return reshaped(x, [1])
    start, stop = start_axis % x.rank, stop_axis % x.rank
    parts = (
        [size(x, a) for a in range(start)] + [constant([-1], "int64")] + [size(x, a) for a in range(stop + 1, x.rank)]
    )
    if sum(d < 0 for d in result().shape) <= 1:
        return reshaped(x, result().shape)
    return onnx.Reshape(x, onnx.Concat(*parts, axis=0))


def onnx_squeeze(x, axis):
    if x.rank == 0:
        return onnx.Identity(x)
    if not axis and any(d < 0 for d in x.shape):
        refuse("squeeze of all dims of size 1, where sizes are open", "name the axes")
    axes = [a for a in axes_of(axis, x) if x.shape[a] == 1]
    return onnx.Squeeze(x, axes=axes) if axes else onnx.Identity(x)


def onnx_unsqueeze(x, axis):
    # One after the other: an axis counts the dims that are there by then.
    for a in axis:
        rank = x.rank + 1
        shape = list(x.shape)
        shape.insert(a % rank, 1)
        x = onnx.Unsqueeze(x, axes=[a % rank])
        x.shape = tuple(shape)
    return x if axis else onnx.Identity(x)


def onnx_transpose(x, perm):
    return onnx.Transpose(x, perm=[p % x.rank for p in perm] or None) if x.rank else onnx.Identity(x)


def onnx_concat(xs, axis):
    xs = [cast(x, result().dtype) for x in xs]
    return onnx.Concat(*xs, axis=axis % result().rank)


def onnx_stack(xs, axis):
    axis %= result().rank
    return onnx.Concat(*[onnx.Unsqueeze(cast(x, result().dtype), axes=[axis]) for x in xs], axis=axis)


def onnx_split(x, sections, axis):
    axis %= x.rank
    lengths = [known_size(result(i), axis, "split") for i in range(len(results()))]
    return list(onnx.Split(x, split=lengths, axis=axis, outputs=len(lengths)))


def onnx_unbind(x, axis):
    return [onnx.Gather(x, constant(i, "int64"), axis=axis % x.rank) for i in range(len(results()))]


def onnx_slice(x, axes, starts, ends, strides):
    if not axes:
        return onnx.Identity(x)
    return onnx.Slice(x, starts=starts, ends=ends, axes=[a % x.rank for a in axes], steps=strides or None)


def onnx_flip(x, axis):
    axes = sorted({a % x.rank for a in axis})
    if not axes:
        return onnx.Identity(x)
    return onnx.Slice(x, starts=[-1] * len(axes), ends=[-_FAR] * len(axes), axes=axes, steps=[-1] * len(axes))


def onnx_roll(x, shifts, axis):
    flat = not axis
    original = sizes(x) if flat else None
    y = onnx.Reshape(x, [-1]) if flat else x
    for shift, a in zip(shifts, axis or [0], strict=True):
        n = x.shape[a] if not flat else _product(x.shape)
        if n < 0:
            refuse("roll along a dim of open size", "give its size in input_spec")
        if n and shift % n:
            cut = n - shift % n
            behind = onnx.Slice(y, starts=[cut], ends=[_FAR], axes=[a % max(x.rank, 1)])
            y = onnx.Concat(
                behind, onnx.Slice(y, starts=[0], ends=[cut], axes=[a % max(x.rank, 1)]), axis=a % max(x.rank, 1)
            )
    return onnx.Reshape(y, original, allowzero=1 if 0 in x.shape else None) if flat else onnx.Identity(y)


def _product(shape):
    total = 1
    for d in shape:
        if d < 0:
            return -1
        total *= d
    return total


def _repeated(values, rank):
    """`values` with ones in front, as many as there are dims."""
    if isinstance(values, Value):
        missing = rank - values.shape[0] if values.shape else 0
        return onnx.Concat(constant([1] * missing, "int64"), ints(values), axis=0) if missing > 0 else ints(values)
    return [1] * (rank - len(values)) + list(values)


def onnx_tile(x, repeat_times: late):
    rank = result().rank
    y = onnx.Unsqueeze(x, axes=list(range(rank - x.rank))) if rank > x.rank else x
    repeats = _repeated(repeat_times, rank)
    return onnx.Tile(y, repeats) if rank else onnx.Identity(x)


def onnx_broadcast_to(x, shape: late):
    known = result().shape
    if all(d >= 0 for d in known):
        return onnx.Expand(x, list(known))
    if isinstance(shape, Value):
        # -1 keeps the size, as 1 does for Expand.
        wanted = ints(shape)
        return onnx.Expand(x, onnx.Where(onnx.Less(wanted, 0), 1, wanted))
    return onnx.Expand(x, [max(d, 1) if d != 0 else 0 for d in shape])


def onnx_shape(x):
    return cast(sizes(x), result().dtype)


def onnx_numel(x):
    return cast(onnx.Size(x), result().dtype)


def onnx_pad(x, paddings, mode, value):
    if x.rank == 0:
        return onnx.Identity(x)
    kind = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    before, after = paddings[0::2], paddings[1::2]
    number = value if kind == "constant" else None
    return onnx.Pad(x, pads=[*before, *after], constant_value=number, mode=kind)


def _band(x, lower, k):
    """Where column - row <= k (lower), or > k."""
    k = sorted((-(2**62), k, 2**62))[1]
    rows, columns = size(x, -2), size(x, -1)
    i = onnx.Range(0, onnx.Squeeze(rows, axes=[0]), 1)
    j = onnx.Range(0, onnx.Squeeze(columns, axes=[0]), 1)
    difference = onnx.Unsqueeze(j, axes=[0]) - onnx.Unsqueeze(i, axes=[1])
    inside = onnx.Greater(difference, k)
    return onnx.Not(inside) if lower else inside


def _masked(x, keep):
    zero = constant(False if x.dtype == "bool" else 0, x.dtype)
    return onnx.Where(keep, x, zero)


def onnx_tril(x, diagonal):
    return _masked(x, _band(x, True, diagonal))


def onnx_triu(x, diagonal):
    return _masked(x, _band(x, False, diagonal - 1))


def _places_of_diagonal(x, offset, axis1, axis2):
    rows, columns = known_size(x, axis1, "diagonal"), known_size(x, axis2, "diagonal")
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    return length, columns


def onnx_diagonal(x, offset, axis1, axis2):
    axis1, axis2 = axis1 % x.rank, axis2 % x.rank
    length, columns = _places_of_diagonal(x, offset, axis1, axis2)
    rest = [a for a in range(x.rank) if a not in (axis1, axis2)]
    last = onnx.Transpose(x, perm=[*rest, axis1, axis2])
    kept = [size(x, a) for a in rest]
    flat = onnx.Reshape(last, onnx.Concat(*kept, [-1], axis=0)) if kept else onnx.Reshape(last, [-1])
    first = offset if offset >= 0 else -offset * columns
    return onnx.Gather(flat, constant([first + i * (columns + 1) for i in range(length)], "int64"), axis=len(rest))


def onnx_diag(x, offset, padding_value):
    if x.rank == 2:
        return onnx_diagonal(x, offset, 0, 1)
    n = known_size(x, 0, "diag")
    padded = onnx.Concat(x, constant([padding_value], x.dtype), axis=0)
    return onnx.Gather(padded, constant(_diagonal_of(n, offset), "int64"), axis=0)


def _diagonal_of(n, offset):
    """Of each place of a matrix the element of a diagonal of n that stands there; n for none."""
    side = n + abs(offset)
    at = np.full((side, side), n)
    at[range(max(-offset, 0), max(-offset, 0) + n), range(max(offset, 0), max(offset, 0) + n)] = range(n)
    return at


def onnx_diag_embed(x, offset, dim1, dim2):
    rank = x.rank + 1
    n = known_size(x, -1, "diag_embed")
    zero = constant([0], x.dtype)
    if x.rank > 1:
        zero = onnx.Expand(zero, onnx.Concat(*[size(x, a) for a in range(x.rank - 1)], [1], axis=0))
    made = onnx.Gather(
        onnx.Concat(x, zero, axis=x.rank - 1), constant(_diagonal_of(n, offset), "int64"), axis=x.rank - 1
    )
    dim1, dim2 = dim1 % rank, dim2 % rank
    rest = iter(range(rank - 2))
    perm = [rank - 2 if a == dim1 else rank - 1 if a == dim2 else next(rest) for a in range(rank)]
    return onnx.Transpose(made, perm=perm)


def onnx_repeat_interleave(x, repeats, axis):
    y = onnx.Reshape(x, [-1]) if axis is None else x
    a = 0 if axis is None else axis % x.rank
    n = _product(x.shape) if axis is None else x.shape[a]
    if n < 0:
        refuse("repeat_interleave along a dim of open size", "give its size in input_spec")
    counts = list(repeats) * n if len(repeats) == 1 else list(repeats)
    return onnx.Gather(y, constant([i for i, c in enumerate(counts) for _ in range(c)], "int64"), axis=a)


def onnx_as_strided(x, shape, strides, offset):
    at = [offset]
    dims = []
    for n, step in zip(shape, strides, strict=True):
        at = [i + k * step for i in at for k in range(n)]
        dims.append(n)
    if len(at) > 2**20:
        refuse("as_strided of more than a million elements")
    flat = onnx.Reshape(x, [-1])
    taken = onnx.Gather(flat, constant(at, "int64"), axis=0)
    return reshaped(taken, dims)
