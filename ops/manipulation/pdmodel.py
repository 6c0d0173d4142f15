"""What these ops are in PaddlePaddle's format where reference.rules read backwards does not say it."""

from proa.jit.reference.rule import (
    CODES,
    Longs,
    Value,
    cast,
    known,
    op,
    refuse,
    result,
    results,
    shape_tensor,
    sizes_of,
    to_result,
)


def _with_old_shape(kind, x, attributes, **inputs):
    """An op that gives the shape of before, too."""
    return op(kind, {"X": x, **inputs}, attributes, outputs=("Out", "XShape"))[0]


def pdmodel_reshape(x, shape):
    if isinstance(shape, Value):
        return _with_old_shape("reshape2", x, {"shape": [-1] * result().rank}, Shape=cast(shape_tensor(shape), "int32"))
    open_ones = [i for i, d in enumerate(shape) if d < 0]
    if 0 in result().shape and 0 in shape:  # where 0 would keep a size
        refuse("a reshape to no elements")
    if len(open_ones) > 1:
        kept = [0 if d < 0 and i < x.rank and x.shape[i] == d else d for i, d in enumerate(shape)]
        if sum(d < 0 for d in kept) > 1:
            sizes = cast(sizes_of(shape, x), "int32")
            return _with_old_shape("reshape2", x, {"shape": [-1] * len(shape)}, Shape=sizes)
        shape = kept
    return _with_old_shape("reshape2", x, {"shape": [max(d, -1) for d in shape]})


def pdmodel_transpose(x, perm):
    return _with_old_shape("transpose2", x, {"axis": [p % max(x.rank, 1) for p in perm]})


def pdmodel_squeeze(x, axis):
    axes = [a % x.rank for a in axis] if axis else [i for i, n in enumerate(x.shape) if n == 1]
    axes = [a for a in axes if x.shape[a] == 1]
    return _with_old_shape("squeeze2", x, {"axes": axes}) if axes else _same(x)


def _same(x):
    return op("assign", {"X": x})


def pdmodel_drop_dims(x, axis):
    axes = [a % x.rank for a in axis]
    if all(x.shape[a] == 1 for a in axes):
        return _with_old_shape("squeeze2", x, {"axes": axes}) if axes else _same(x)
    # Dims that hold one element, which only the op knows that made them.
    whole = {"axes": axes, "starts": [0] * len(axes), "ends": [1] * len(axes), "infer_flags": [1] * len(axes)}
    return op("slice", {"Input": x}, {**whole, "decrease_axis": axes})


def pdmodel_unsqueeze(x, axis):
    return _with_old_shape("unsqueeze2", x, {"axes": sorted(a % result().rank for a in axis)}) if axis else _same(x)


def pdmodel_flatten(x, start_axis, stop_axis):
    if x.rank == 0:
        return _with_old_shape("reshape2", x, {"shape": [1]})
    axes = {"start_axis": start_axis % x.rank, "stop_axis": stop_axis % x.rank}
    return _with_old_shape("flatten_contiguous_range", x, axes)


def pdmodel_concat(xs, axis):
    return op("concat", {"X": [cast(x, result().dtype) for x in xs]}, {"axis": axis % result().rank})


def pdmodel_stack(xs, axis):
    return op("stack", {"X": [cast(x, result().dtype) for x in xs]}, {"axis": axis % result().rank}, outputs=("Y",))


def pdmodel_split(x, sections, axis):
    sections = [max(s, -1) for s in known(sections, "sections")]
    flags = {"sections": sections, "num": 0, "axis": axis % x.rank}  # PaddlePaddle 3 takes -1 for 0 here
    found = op("split", {"X": x}, flags, outputs=(("Out", len(results())),))
    return found if isinstance(found, list) else [found]


def pdmodel_unbind(x, axis):
    found = op("unbind", {"X": x}, {"axis": axis % x.rank}, outputs=(("Out", len(results())),))
    return found if isinstance(found, list) else [found]


def pdmodel_tile(x, repeat_times):
    if isinstance(repeat_times, Value):
        return op("tile", {"X": x, "RepeatTimes": cast(shape_tensor(repeat_times), "int32")}, {"repeat_times": []})
    return op("tile", {"X": x}, {"repeat_times": [int(n) for n in repeat_times]})


def pdmodel_broadcast_to(x, shape):
    if isinstance(shape, Value):
        return op("expand_v2", {"X": x, "Shape": cast(shape_tensor(shape), "int32")}, {"shape": [-1] * result().rank})
    sizes = result().shape
    more = len(sizes) - x.rank
    if any(d < 0 and (i < more or x.shape[i - more] != d) for i, d in enumerate(sizes)):
        refuse("a size to broadcast to is open", "give it in input_spec")
    return op("expand_v2", {"X": x}, {"shape": [max(d, -1) for d in sizes]})


_FAR = 2**31 - 1  # sizes are int32


def _near(numbers, what):
    return [min(max(n, -_FAR), _FAR) for n in known(numbers, what)]


def pdmodel_slice(x, axes, starts, ends, strides):
    given = {"axes": [a % x.rank for a in axes], "starts": _near(starts, "starts"), "ends": _near(ends, "ends")}
    steps = list(known(strides, "strides"))
    flags = {"infer_flags": [1] * len(axes), "decrease_axis": []}
    if any(s != 1 for s in steps):
        return op("strided_slice", {"Input": x}, {**given, "strides": steps, **flags})
    return op("slice", {"Input": x}, {**given, **flags})


def pdmodel_slice_set(x, value, axes, starts, ends, strides):
    steps = list(strides) or [1] * len(axes)
    given = {"axes": Longs(axes), "starts": Longs(starts), "ends": Longs(ends), "steps": Longs(steps)}
    more = {"decrease_axes": Longs(), "none_axes": Longs(), "shape": Longs(), "dtype": CODES[x.dtype]}
    return op("set_value", {"Input": x, "ValueTensor": cast(value, x.dtype)}, {**given, **more})


def pdmodel_pad(x, paddings, mode, value):
    if mode == "constant":
        return op("pad", {"X": x}, {"paddings": list(paddings), "pad_value": float(known(value, "value"))})
    dims = x.rank - 2
    if dims not in (1, 2, 3) or any(paddings[:4]):
        refuse(f"a pad of {x.rank} dims with mode {mode}")
    given = list(paddings[4:])
    image = x
    if dims < 3:
        image = _with_old_shape("unsqueeze2", x, {"axes": list(range(2, 5 - dims))})
    pairs = [0, 0] * (3 - dims) + given
    order = [*pairs[4:6], *pairs[2:4], *pairs[0:2]]  # of the last dim first
    numbers = {"paddings": order, "mode": mode, "value": 0.0, "data_format": "NCDHW"}
    out = op("pad3d", {"X": image}, numbers)
    return _with_old_shape("squeeze2", out, {"axes": list(range(2, 5 - dims))}) if dims < 3 else out


def pdmodel_roll(x, shifts, axis):
    return op("roll", {"X": x}, {"shifts": Longs(known(shifts, "shifts")), "axis": Longs(axis)})


def pdmodel_flip(x, axis):
    return op("flip", {"X": x}, {"axis": [a % max(x.rank, 1) for a in axis]})


def pdmodel_tril(x, diagonal):
    return op("tril_triu", {"X": x}, {"diagonal": diagonal, "lower": True})


def pdmodel_triu(x, diagonal):
    return op("tril_triu", {"X": x}, {"diagonal": diagonal, "lower": False})


def pdmodel_diag(x, offset, padding_value):
    return op("diag_v2", {"X": x}, {"offset": offset, "padding_value": float(padding_value)})


def pdmodel_shape(x):
    return to_result(op("shape", {"Input": x}, dtype="int32", shape=(x.rank,)))


def pdmodel_numel(x):
    return op("size", {"Input": x}, dtype="int64")
