"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

import functools
import operator

import numpy as np

from proa import _C
from proa.onnx.import_rule import Known, flat, numbers, output_count, raw, refuse, scalar, to

ops = _C.ops


def _sizes(x):
    return list(x.array.shape if isinstance(x, Known) else x.shape)


def from_Shape(x: raw, *, start=0, end=None):
    sizes = _sizes(x)[start:end]
    known = np.array(sizes, object) if any(hasattr(n, "tensor") for n in sizes) else np.array(sizes, np.int64)
    return Known(known, "int64")


def from_Size(x: raw):
    total = functools.reduce(operator.mul, _sizes(x), 1)
    return Known(np.array(total, object if hasattr(total, "tensor") else np.int64), "int64")


def from_Reshape(x, shape: numbers, *, allowzero=0, consumed_inputs=None):
    wanted = flat(shape)
    if not allowzero:
        for i, n in enumerate(wanted):
            if not hasattr(n, "tensor") and n == 0:
                if i >= len(x.shape):
                    refuse(f"size 0 at {i} stands for a dim that a tensor {list(x.shape)} does not have")
                wanted[i] = x.shape[i]
    return ops.reshape(x, wanted)


def from_Flatten(x, *, axis=1):
    axis = axis + len(x.shape) if axis < 0 else axis
    if axis == 0:
        return ops.reshape(x, [1, -1])
    if axis >= len(x.shape):
        return ops.reshape(x, [-1, 1])
    before = ops.flatten(x, 0, axis - 1)
    return ops.flatten(before, 1, -1)


def from_Squeeze(x, axes: numbers = None):
    chosen = [d for d, n in enumerate(x.shape) if n == 1] if axes is None else flat(axes)
    if not chosen:
        return x
    for a in chosen:
        if not -len(x.shape) <= a < len(x.shape):
            refuse(f"there is no dim {a} of {len(x.shape)}")
        n = x.shape[a]
        if not hasattr(n, "tensor") and n != 1:
            refuse(f"dim {a} has size {n}, not 1")
    if any(hasattr(x.shape[a], "tensor") for a in chosen):  # the file says that an open size is 1
        gone = {a % len(x.shape) for a in chosen}
        return ops.reshape(x, [n for d, n in enumerate(x.shape) if d not in gone])
    return ops.squeeze(x, chosen)


def from_Unsqueeze(x, axes: numbers):
    rank = len(x.shape) + len(flat(axes))
    if any(not -rank <= a < rank for a in flat(axes)):
        refuse(f"axes {flat(axes)} for a result of {rank} dims")
    for a in sorted(a % rank for a in flat(axes)):
        x = ops.unsqueeze(x, [a])
    return x


def from_Transpose(x, *, perm=None):
    return ops.transpose(x, list(range(len(x.shape)))[::-1] if perm is None else list(perm))


def from_Concat(*xs, axis=1):
    return ops.concat(list(xs), axis)


def from_Split(x, split: numbers = None, *, axis=0, num_outputs=None):
    count = output_count()
    if split is not None:
        lengths = flat(split)
    else:
        n, parts = x.shape[axis], num_outputs or count
        if hasattr(n, "tensor"):
            lengths = [n // parts] * (parts - 1) + [-1]
        else:
            each = -(-n // parts)
            lengths = [each] * (parts - 1) + [n - each * (parts - 1)]
    return tuple(ops.split(x, lengths, axis))


_FAR = 2**62


def from_Slice(x, starts: numbers, ends: numbers, axes: numbers = None, steps: numbers = None):
    starts, ends = flat(starts), flat(ends)
    axes = list(range(len(starts))) if axes is None else flat(axes)
    steps = [1] * len(starts) if steps is None else flat(steps)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        refuse(f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes, {len(steps)} steps")
    for i, a in enumerate(axes):
        if not -len(x.shape) <= a < len(x.shape):
            refuse(f"there is no dim {a} of {len(x.shape)}")
        x = _sliced(x, a, starts[i], ends[i], steps[i])
    return x


def _sliced(x, axis, start, end, step):
    if not hasattr(start, "tensor") and not hasattr(end, "tensor"):
        start, end = (max(-_FAR, min(n, _FAR)) for n in (start, end))
        return ops.slice(x, [axis], [start], [end], [step])
    if step != 1:
        refuse("a slice with steps needs numbers that are known")
    return ops.slice(x, [axis], [start], [end])


def from_Tile(x, repeats: numbers):
    return ops.tile(x, flat(repeats))


def from_Expand(x, shape: numbers):
    wanted = flat(shape)
    have = [1] * (len(wanted) - len(x.shape)) + list(x.shape)
    wanted = [1] * (len(have) - len(wanted)) + wanted
    sizes = [h if not hasattr(w, "tensor") and w == 1 else w for h, w in zip(have, wanted, strict=True)]
    return ops.broadcast_to(x, sizes)


_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def from_Pad(x, pads: numbers = None, value: numbers = None, axes: numbers = None, *, mode="constant", paddings=None):
    given = flat(pads if pads is not None else paddings)
    rank = len(x.shape)
    axes = list(range(rank)) if axes is None else [a % rank for a in flat(axes)]
    if len(given) != 2 * len(axes):
        refuse(f"{len(given)} pads for {len(axes)} dims")
    both = [0] * (2 * rank)
    for i, a in enumerate(axes):
        both[2 * a], both[2 * a + 1] = given[i], given[len(axes) + i]
    if mode not in _MODES:
        refuse(f"there is no mode {mode!r}")
    for a in range(rank):  # negative pads cut
        if both[2 * a] < 0 or both[2 * a + 1] < 0:
            x = ops.slice(x, [a], [max(-both[2 * a], 0)], [x.shape[a] - max(-both[2 * a + 1], 0)])
    both = [max(n, 0) for n in both]
    if not any(both):
        return x
    number = 0 if value is None else scalar(value)
    if x.dtype.name == "bool":
        return to(ops.pad(to(x, "int32"), both, _MODES[mode], int(number)), "bool")
    return ops.pad(x, both, _MODES[mode], number)


def from_Trilu(x, k: numbers = None, *, upper=1):
    by = 0 if k is None else int(scalar(k))
    return ops.triu(x, by) if upper else ops.tril(x, by)


def from_DepthToSpace(x, *, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        y = ops.transpose(ops.reshape(x, [n, b, b, c // (b * b), h, w]), [0, 3, 4, 1, 5, 2])
    else:
        y = ops.transpose(ops.reshape(x, [n, c // (b * b), b, b, h, w]), [0, 1, 4, 2, 5, 3])
    return ops.reshape(y, [n, c // (b * b), h * b, w * b])


def from_SpaceToDepth(x, *, blocksize):
    n, c, h, w = x.shape
    b = blocksize
    y = ops.transpose(ops.reshape(x, [n, c, h // b, b, w // b, b]), [0, 3, 5, 1, 2, 4])
    return ops.reshape(y, [n, c * b * b, h // b, w // b])


def from_CenterCropPad(x, shape: numbers, *, axes=None):
    rank = len(x.shape)
    for a, n in zip(range(rank) if axes is None else axes, flat(shape), strict=True):
        have = x.shape[a]
        if hasattr(have, "tensor"):
            refuse("it needs sizes that are known")
        if n < have:
            x = ops.slice(x, [a], [(have - n) // 2], [(have - n) // 2 + n])
        elif n > have:
            both = [0] * (2 * rank)
            both[2 * (a % rank)], both[2 * (a % rank) + 1] = (n - have) // 2, n - have - (n - have) // 2
            x = ops.pad(x, both)
    return x


def from_Col2Im(x, image_shape: numbers, block_shape: numbers, *, dilations=None, pads=None, strides=None):
    import proa

    size, block = flat(image_shape), flat(block_shape)
    if len(size) != 2:
        refuse("images of two dims only")
    given = list(pads or [0, 0, 0, 0])
    return proa.nn.functional.fold(
        x, size, block, strides=list(strides or [1, 1]), paddings=given, dilations=list(dilations or [1, 1])
    )
