"""Splitting, joining, expanding and turning tensors."""

import functools
import operator
import sys

from proa import _C
from proa.framework.attributes import (
    an_int,
    ints,
    is_late,
    known,
    known_int,
    known_ints,
    known_number,
    number,
    numbers,
    real,
)
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import as_tensor, require
from proa.tensor.attribute import tensor_list
from proa.tensor.method import method as _method

__all__ = [
    "broadcast_shape",
    "broadcast_tensors",
    "check_shape",
    "chunk",
    "concat",
    "crop",
    "expand",
    "expand_as",
    "moveaxis",
    "rot90",
    "shard_index",
    "split",
    "squeeze",
    "stack",
    "strided_slice",
    "unstack",
]


def axis_of(op, axis, x, extra=0, parameter="axis", tensor="x"):
    """A non-negative axis of x (of `extra` dims more), checked; a one-element tensor is read, if it can be."""
    if type(axis) is not int:
        axis = number(axis)
        if is_late(axis):
            return axis
        axis = known_int(op, parameter, axis)
    rank = len(x.shape) + extra
    if not -rank <= axis < rank:
        raise _C.located(
            IndexError(f"{op}: {parameter} {axis} is out of range; {tensor} is {list(x.shape)} {x.dtype.name}")
        )
    return axis % rank


def known_axis_of(op, axis, x, parameter="axis", tensor="x"):
    """axis_of, where the function itself needs the number."""
    return axis_of(op, known_int(op, parameter, axis), x, 0, parameter, tensor)


@_method
def concat(x, axis=0, name=None):
    """Tensors one after the other along an axis.

    Args:
        x (list[Tensor]): of shapes that agree in all other dims.
        axis (int|Tensor): along which.

    Examples:
        >>> proa.concat([proa.ones([2, 1]), proa.zeros([2, 2])], axis=1).tolist()
        [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    return _C.ops.concat(x, axis)


@_method
def stack(x, axis=0, name=None):
    """Tensors of one shape along a new axis.

    Examples:
        >>> proa.stack([proa.ones([3]), proa.zeros([3])]).shape
        [2, 3]
    """
    return _C.ops.stack(x, axis)


@_method
def squeeze(x, axis=None, name=None):
    """x without dims of size 1, as a view.

    Args:
        x (Tensor): any shape.
        axis (int|list[int]|Tensor, optional): which dims; one of another size stays. All dims of size 1 unless given. Of an
            axis that only the run of a program knows the size must be 1: how many dims there are is recorded.

    Examples:
        >>> proa.squeeze(proa.ones([1, 3, 1]), axis=0).shape
        [3, 1]
    """
    if axis is None or type(axis) is int:
        return _C.ops.squeeze(x, axis)
    axis = numbers(axis)
    if not is_late(axis):
        return _C.ops.squeeze(x, axis)
    x = _C.tensor_argument(x, "squeeze", "x")
    rank, axes = len(x.shape), list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if len(axes) > rank:
        raise _C.located(IndexError(f"squeeze: {len(axes)} axes are out of range; x is {list(x.shape)} {x.dtype.name}"))
    if rank == len(axes):
        return _C.ops.reshape(x, [])
    # The sizes of the other dims, in their order; with another number of elements than x has the reshape is an error.
    places = _C.ops.arange(0, rank, 1, _C.int64)
    dropped = _C.ops.full([rank], 0, _C.int64)
    for a in axes:
        a = _C.ops.cast(_C.ops.reshape(a, []), _C.int64) if isinstance(a, _C.Tensor) else a
        dropped = _C.ops.where(_C.ops.equal(places, a % rank), places - places + 1, dropped)
    order = _C.ops.argsort(dropped * rank + places, 0, False)
    return _C.ops.reshape(x, _C.ops.gather(_C.ops.shape(x), _C.ops.slice(order, [0], [0], [rank - len(axes)]), 0))


@_method
def split(x, num_or_sections, axis=0, name=None):
    """Parts of a tensor along an axis: copies, so that writing into one leaves x as it is.

    A copy costs one pass over memory; slices (`x[:, a:b]`) and `unbind` are views.

    Args:
        x (Tensor): what to split.
        num_or_sections (int|list[int|Tensor]): number of equal parts, or their sizes; one may be -1, the rest.
        axis (int|Tensor): along which.

    Returns:
        list[Tensor]: the parts.

    Examples:
        >>> [part.shape for part in proa.split(proa.ones([3, 9]), [2, 3, -1], axis=1)]
        [[3, 2], [3, 3], [3, 4]]
    """
    x = _C.tensor_argument(x, "split", "x")
    return _split("split", x, num_or_sections, axis, "num_or_sections")


_MOST_EMPTY_PARTS = 1 << 16  # and parts of a dim whose size only the run of a program knows


def _split(op, x, num_or_sections, axis, parameter):
    num_or_sections = numbers(num_or_sections)
    if isinstance(num_or_sections, _C.Tensor):
        num_or_sections = known(op, parameter, num_or_sections)
    if isinstance(num_or_sections, int):
        axis = known_axis_of(op, axis, x)
        size, num = x.shape[axis], num_or_sections
        # Nothing can be cut into any number of nothings; of them a list is made.
        most = _MOST_EMPTY_PARTS if is_late(size) else max(size, _MOST_EMPTY_PARTS)
        if not 1 <= num <= most or (not is_late(size) and size % num):
            raise _C.located(
                ValueError(
                    f"{op}: dim {axis} of {'an open size' if is_late(size) else f'size {size}'} cannot be split into {num} "
                    f"equal parts; x is {list(x.shape)} {x.dtype.name}"
                )
            )
        sections = [size // num] * num
    else:
        axis, sections = axis_of(op, axis, x), num_or_sections
    return [_C.ops.assign(part) for part in _C.ops.split(x, sections, axis)]


@_method
def chunk(x, chunks, axis=0, name=None):
    """Equal parts of a tensor along an axis: copies, as of split.

    Examples:
        >>> [part.shape for part in proa.chunk(proa.ones([4, 3]), 2)]
        [[2, 3], [2, 3]]
    """
    x = _C.tensor_argument(x, "chunk", "x")
    chunks = known_number("chunk", "chunks", chunks)
    if not isinstance(chunks, int):
        raise _C.located(TypeError(f"chunk: chunks must be an int, not {type(chunks).__name__}"))
    return _split("chunk", x, chunks, axis, "chunks")


@_method
def unstack(x, axis=0, num=None):
    """The slices of x along an axis, without that dim: copies, where those of `unbind` are views.

    Args:
        x (Tensor): what to take apart.
        axis (int): along which.
        num (int, optional): the expected number of slices.

    Examples:
        >>> [row.tolist() for row in proa.unstack(proa.to_tensor([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]
    """
    x = _C.tensor_argument(x, "unstack", "x")
    axis = known_axis_of("unstack", axis, x)
    if num is not None and is_late(x.shape[axis]):
        num = an_int("unstack", "num", num)
        if not 0 <= num <= _MOST_EMPTY_PARTS:
            raise _C.located(ValueError(f"unstack: num is {num}, where dim {axis} has an open size"))
        parts = _C.ops.split(x, [1] * num, axis)  # whose sum is checked when the program runs
        return [_C.ops.assign(_C.ops.squeeze(part, [axis])) for part in parts]
    if num is not None and num != x.shape[axis]:
        raise _C.located(ValueError(f"unstack: num is {num}, but dim {axis} has size {x.shape[axis]}"))
    return [_C.ops.assign(part) for part in _C.ops.unbind(x, axis)]


@_method
def expand(x, shape, name=None):
    """x repeated along dims of size 1 (and new ones in front), as a view.

    Args:
        x (Tensor): what to repeat.
        shape (list[int|Tensor]|Tensor): the new sizes; -1 keeps one.

    Examples:
        >>> proa.expand(proa.to_tensor([1, 2]), [2, -1]).tolist()
        [[1, 2], [1, 2]]
    """
    x = _C.tensor_argument(x, "expand", "x")
    if isinstance(shape, _C.Tensor):
        return _C.ops.broadcast_to(x, shape)
    sizes = list(shape) if isinstance(shape, (list, tuple)) else ints("expand", "shape", shape)
    new = len(sizes) - x.ndim
    if any(isinstance(s, int) and s == -1 for s in (sizes if new < 0 else sizes[:new])):
        raise _C.located(
            ValueError(f"expand: -1 needs a dim to keep; shape is {sizes}, x is {list(x.shape)} {x.dtype.name}")
        )
    if is_late(sizes):  # a size that is kept is known, whatever the others are
        sizes = [x.shape[i - new] if type(s) is int and s == -1 else s for i, s in enumerate(sizes)]
    return _C.ops.broadcast_to(x, sizes)


@_method
def expand_as(x, y, name=None):
    """x repeated to the shape of y, as a view.

    Examples:
        >>> proa.expand_as(proa.to_tensor([1, 2]), proa.ones([3, 2])).shape
        [3, 2]
    """
    return _C.ops.broadcast_to(x, _C.tensor_argument(y, "expand_as", "y").shape)


def check_shape(shape):
    """Raises unless a shape is one that functions of creation take.

    Args:
        shape (Tensor|list|tuple): integers, none negative; each may be a Tensor of integers.

    Raises:
        TypeError: for anything else than integers.
        ValueError: for a negative size.

    Examples:
        >>> proa.check_shape([2, proa.to_tensor(3)])
    """
    for size in [shape] if isinstance(shape, _C.Tensor) else shape:
        if isinstance(size, _C.Tensor):
            if not size.is_integer():
                raise _C.located(TypeError(f"check_shape: sizes must be integers, not {size.dtype.name}"))
            continue
        try:
            negative = operator.index(size) < 0
        except TypeError:
            raise _C.located(TypeError(f"check_shape: sizes must be integers, not {type(size).__name__}")) from None
        if negative:
            raise _C.located(ValueError(f"check_shape: sizes must not be negative; shape is {list(shape)}"))


def broadcast_shape(x_shape, y_shape):
    """The shape that an elementwise function of two shapes gives.

    Examples:
        >>> proa.broadcast_shape([2, 1, 3], [1, 3, 1])
        [2, 3, 3]
    """
    for name, shape in (("x_shape", x_shape), ("y_shape", y_shape)):
        if not isinstance(shape, (list, tuple)):
            raise _C.located(
                TypeError(f"broadcast_shape: {name} must be a list or tuple of int, not {type(shape).__name__}")
            )
    rank = max(len(x_shape), len(y_shape))
    x, y = [1] * (rank - len(x_shape)) + list(x_shape), [1] * (rank - len(y_shape)) + list(y_shape)
    out = []
    for i, (a, b) in enumerate(zip(x, y)):
        if a != b and 1 not in (a, b):
            raise _C.located(
                ValueError(
                    f"broadcast_shape: shapes do not broadcast at dim {i}; they are {list(x_shape)} and {list(y_shape)}"
                )
            )
        out.append(b if a == 1 else a)
    return out


@_method
def broadcast_tensors(input=None, name=None, *, inputs=None):
    """The tensors of a list, each repeated to the shape that they have in common. `inputs` names the list too.

    Examples:
        >>> x, y = proa.broadcast_tensors([proa.ones([2, 1]), proa.ones([3])])
        >>> x.shape, y.shape
        ([2, 3], [2, 3])
    """
    inputs = tensor_list(input if inputs is None else inputs, "broadcast_tensors", "input")
    if not inputs:
        raise _C.located(ValueError("broadcast_tensors: at least one tensor is needed"))
    if any(is_late(x.shape) for x in inputs):
        common = functools.reduce(_C.ops.logical_or, [_C.ops.full_like(x, False, "bool") for x in inputs])
        shape = common.shape
    else:
        shape = functools.reduce(broadcast_shape, [x.shape for x in inputs])
    return [_C.ops.broadcast_to(x, shape) for x in inputs]


@_method
def moveaxis(x, source, destination, name=None):
    """x with axes at other places; the others keep their order.

    Examples:
        >>> proa.moveaxis(proa.ones([3, 2, 4]), [0, 1], [1, 2]).shape
        [4, 3, 2]
    """
    x = _C.tensor_argument(x, "moveaxis", "x")
    source, destination = (list(v) if isinstance(v, (list, tuple)) else [v]
                           for v in (numbers(source), numbers(destination)))  # fmt: skip
    if len(source) != len(destination):
        raise _C.located(ValueError(f"moveaxis: {len(source)} sources but {len(destination)} destinations"))
    source = [known_axis_of("moveaxis", a, x, "source") for a in source]
    destination = [known_axis_of("moveaxis", a, x, "destination") for a in destination]
    if len(set(source)) < len(source) or len(set(destination)) < len(destination):
        raise _C.located(
            ValueError(f"moveaxis: an axis is given twice; source is {source}, destination is {destination}")
        )
    rest = iter(i for i in range(len(x.shape)) if i not in source)
    where = dict(zip(destination, source))
    return _C.ops.transpose(x, [where[i] if i in where else next(rest) for i in range(len(x.shape))])


@_method
def rot90(x, k=1, axes=(0, 1), name=None):
    """x turned k times by 90 degrees in the plane of two axes, from the first towards the second.

    Examples:
        >>> proa.rot90(proa.to_tensor([[1, 2], [3, 4]])).tolist()
        [[2, 4], [1, 3]]
    """
    x = _C.tensor_argument(x, "rot90", "x")
    k, axes = known_int("rot90", "k", k), known_ints("rot90", "axes", axes)
    if len(axes) != 2:
        raise _C.located(ValueError(f"rot90: two axes are needed, not {list(axes)}"))
    a, b = axis_of("rot90", axes[0], x), axis_of("rot90", axes[1], x)
    if a == b:
        raise _C.located(ValueError(f"rot90: the axes must differ; they are {list(axes)}"))
    k %= 4
    if k == 0:
        return _C.ops.assign(x)
    if k == 2:
        return _C.ops.flip(x, [a, b])
    perm = list(range(len(x.shape)))
    perm[a], perm[b] = b, a
    if k == 1:
        return _C.ops.transpose(_C.ops.flip(x, [b]), perm)
    return _C.ops.flip(_C.ops.transpose(x, perm), [b])


@_method
def strided_slice(x, axes, starts, ends, strides, name=None):
    """x[starts[i] : ends[i] : strides[i]] along each of `axes`, as a view.

    Examples:
        >>> proa.strided_slice(proa.arange(6), axes=[0], starts=[1], ends=[6], strides=[2]).tolist()
        [1, 3, 5]
    """
    x = _C.tensor_argument(x, "strided_slice", "x")
    return _C.ops.slice(x, numbers(axes), numbers(starts), numbers(ends), numbers(strides))


def crop(x, shape=None, offsets=None, name=None):
    """A block of x, as a copy.

    Args:
        x (Tensor): what to cut from.
        shape (list[int|Tensor]|Tensor, optional): of the block; -1 means all from the offset on.
        offsets (list[int|Tensor]|Tensor, optional): of the block's first element; zeros unless given.

    Examples:
        >>> proa.crop(proa.arange(6).reshape([2, 3]), shape=[1, 2], offsets=[1, 1]).tolist()
        [[4, 5]]
    """
    x = _C.tensor_argument(x, "crop", "x")
    rank = len(x.shape)
    offsets = [0] * rank if offsets is None else ints("crop", "offsets", offsets)
    sizes = [-1] * rank if shape is None else ints("crop", "shape", shape)
    if len(sizes) != rank or len(offsets) != rank:
        raise _C.located(
            ValueError(f"crop: {rank} sizes and offsets are needed; shape is {sizes}, offsets are {offsets}")
        )
    ends = []
    for i in range(rank):
        if is_late(offsets[i], sizes[i]):
            sizes[i] = _late_size(x.shape[i] - offsets[i], sizes[i])
            ends.append(offsets[i] + sizes[i])
            continue
        size = x.shape[i] - offsets[i] if sizes[i] == -1 else sizes[i]
        open_size = is_late(x.shape[i])
        if offsets[i] < 0 or (not is_late(size) and size < 0) or (not open_size and offsets[i] + size > x.shape[i]):
            raise _C.located(
                ValueError(
                    f"crop: dim {i} has no {size} elements from {offsets[i]} on; x is {list(x.shape)} {x.dtype.name}"
                )
            )
        sizes[i] = size
        ends.append(sys.maxsize if is_late(size) else offsets[i] + size)  # slices end where the dim does
    if any(is_late(n) for n in x.shape):  # where a slice would end at the end of the dim, or be empty
        says = "crop: x has the shape {}; there are no {} elements from {} on"
        x = require(x, *_block_of(x, offsets, sizes, says))
    block = _C.ops.assign(_C.ops.slice(x, list(range(rank)), offsets, ends))
    # Slices keep what is there; a block of other sizes than asked for is an error when the program runs.
    return _C.ops.reshape(block, sizes) if is_late(offsets, sizes, x.shape) else block


def _block_of(x, offsets, sizes, message):
    """What `require` asks of a block of x."""
    shape = _C.ops.shape(x)
    offsets, sizes = as_tensor(offsets), as_tensor(sizes)
    holds = _C.ops.concat([offsets >= 0, sizes >= 0, offsets + sizes <= shape], 0)
    return holds, message, shape, sizes, offsets


def _late_size(rest, size):
    """`size` of a block, or, where it is -1, `rest`; of either only the run of a program may know the number."""
    if isinstance(size, _C.Tensor):
        return _C.ops.where(size == -1, rest, size)
    return rest if isinstance(size, int) and size == -1 else size


@_method
def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """Indices of one of `nshards` equal parts of [0, index_num), counted from its start; others become ignore_value.

    Examples:
        >>> proa.shard_index(proa.to_tensor([[1], [16]]), index_num=20, nshards=2, shard_id=1).tolist()
        [[-1], [6]]
    """
    input = _C.tensor_argument(input, "shard_index", "input")
    ignore_value = real("shard_index", "ignore_value", ignore_value)
    index_num = an_int("shard_index", "index_num", index_num)
    nshards, shard_id = known_int("shard_index", "nshards", nshards), known_int("shard_index", "shard_id", shard_id)
    if not 0 <= shard_id < nshards:
        raise _C.located(ValueError(f"shard_index: shard_id {shard_id} is not one of {nshards} shards"))
    size = (index_num + nshards - 1) // nshards
    start = shard_id * size
    if isinstance(size, _C.Tensor):  # which only the run knows: its shape and dtype are not the result's
        start, size = _C.ops.reshape(start, []), _C.ops.reshape(size, [])
    inside = _C.ops.logical_and(input >= start, input < start + size)
    return _C.ops.where(inside, _C.ops.cast(input - start, input.dtype), _C.ops.full_like(input, ignore_value))


__getattr__ = _borrow(__name__, "proa")
