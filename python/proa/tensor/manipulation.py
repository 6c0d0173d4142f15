"""Splitting, joining, expanding and turning tensors."""

import operator

from proa import _C
from proa.framework.attributes import is_late, number, numbers
from proa.framework.names import borrow as _borrow
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
    "stack",
    "strided_slice",
    "unstack",
]


def axis_of(op, axis, x, extra=0):
    """A non-negative axis of x (of `extra` dims more), checked; a one-element tensor is read, if it can be."""
    axis = number(axis)
    if is_late(axis):
        return axis
    rank = len(x.shape) + extra
    if not isinstance(axis, int):
        raise _C.located(TypeError(f"{op}: axis must be an int, not {type(axis).__name__}"))
    if not -rank <= axis < rank:
        raise _C.located(IndexError(f"{op}: axis {axis} is out of range; x is {list(x.shape)} {x.dtype.name}"))
    return axis % rank


def known_axis_of(op, axis, x):
    """axis_of, where the function itself needs the number."""
    axis = axis_of(op, axis, x)
    if is_late(axis):
        raise _C.located(ValueError(f"{op}: the axis must be known when the program is recorded"))
    return axis


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
    axis = axis_of("split", axis, x)
    num_or_sections = numbers(num_or_sections)
    if isinstance(num_or_sections, _C.Tensor) or is_late(axis) and isinstance(num_or_sections, int):
        raise _C.located(
            ValueError("split: how many parts, and the axis of equal parts, must be known when the program is recorded")
        )
    if isinstance(num_or_sections, int):
        size, num = x.shape[axis], num_or_sections
        if num < 1 or size % num:
            raise _C.located(
                ValueError(
                    f"split: dim {axis} of size {size} cannot be split into {num} equal parts; "
                    f"x is {list(x.shape)} {x.dtype.name}"
                )
            )
        sections = [size // num] * num
    else:
        sections = num_or_sections
    return [_C.ops.assign(part) for part in _C.ops.split(x, sections, axis)]


@_method
def chunk(x, chunks, axis=0, name=None):
    """Equal parts of a tensor along an axis: copies, as of split.

    Examples:
        >>> [part.shape for part in proa.chunk(proa.ones([4, 3]), 2)]
        [[2, 3], [2, 3]]
    """
    x = _C.tensor_argument(x, "chunk", "x")
    chunks = number(chunks)
    if not isinstance(chunks, int):
        raise _C.located(TypeError(f"chunk: chunks must be an int, not {type(chunks).__name__}"))
    return split(x, chunks, axis)


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
    axis = axis_of("unstack", axis, x)
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
    sizes = list(shape)
    new = len(sizes) - x.ndim
    if any(isinstance(s, int) and s == -1 for s in (sizes if new < 0 else sizes[:new])):
        raise _C.located(
            ValueError(f"expand: -1 needs a dim to keep; shape is {sizes}, x is {list(x.shape)} {x.dtype.name}")
        )
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
        >>> proa.check_shape([2, -3])
        Traceback (most recent call last):
            ...
        ValueError: check_shape: sizes must not be negative; shape is [2, -3]
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
    shape = []
    for x in inputs:
        shape = broadcast_shape(shape, x.shape)
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
    source = [known_axis_of("moveaxis", a, x) for a in source]
    destination = [known_axis_of("moveaxis", a, x) for a in destination]
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
    if len(axes) != 2:
        raise _C.located(ValueError(f"rot90: two axes are needed, not {list(axes)}"))
    a, b = known_axis_of("rot90", axes[0], x), known_axis_of("rot90", axes[1], x)
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


_ALL = 2**62  # The end of a slice that takes what there is.


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
    offsets = [0] * rank if offsets is None else numbers(offsets)
    sizes = list(x.shape) if shape is None else numbers(shape)
    if len(sizes) != rank or len(offsets) != rank:
        raise _C.located(
            ValueError(f"crop: {rank} sizes and offsets are needed; shape is {sizes}, offsets are {offsets}")
        )
    ends = []
    for i in range(rank):
        if is_late(offsets[i], sizes[i]):  # of which slices keep what is there
            whole = isinstance(sizes[i], int) and sizes[i] == -1
            ends.append(_ALL if whole else offsets[i] + sizes[i])
            continue
        size = x.shape[i] - offsets[i] if sizes[i] == -1 else sizes[i]
        if offsets[i] < 0 or size < 0 or offsets[i] + size > x.shape[i]:
            raise _C.located(
                ValueError(
                    f"crop: dim {i} has no {size} elements from {offsets[i]} on; x is {list(x.shape)} {x.dtype.name}"
                )
            )
        ends.append(offsets[i] + size)
    return _C.ops.assign(_C.ops.slice(x, list(range(rank)), offsets, ends))


@_method
def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """Indices of one of `nshards` equal parts of [0, index_num), counted from its start; others become ignore_value.

    Examples:
        >>> proa.shard_index(proa.to_tensor([[1], [16]]), index_num=20, nshards=2, shard_id=1).tolist()
        [[-1], [6]]
    """
    input = _C.tensor_argument(input, "shard_index", "input")
    if not 0 <= shard_id < nshards:
        raise _C.located(ValueError(f"shard_index: shard_id {shard_id} is not one of {nshards} shards"))
    size = (index_num + nshards - 1) // nshards
    start = shard_id * size
    inside = _C.ops.logical_and(input >= start, input < start + size)
    return _C.ops.where(inside, input - start, _C.ops.full_like(input, ignore_value))


__getattr__ = _borrow(__name__, "proa")
