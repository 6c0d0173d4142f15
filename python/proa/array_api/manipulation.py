"""Shapes: joining, splitting, turning."""

from proa import _C
from proa.tensor import manipulation as _manipulation

__all__ = [
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]


def axes_of(axis):
    """An axis or several as a list; None stays."""
    return None if axis is None else [axis] if isinstance(axis, int) else list(axis)


def broadcast_arrays(*arrays):
    """The tensors, all of the shape that they broadcast to.

    Examples:
        >>> [x.shape for x in proa.array_api.broadcast_arrays(proa.ones([2, 1]), proa.ones([3]))]
        [[2, 3], [2, 3]]
    """
    shape = []
    for x in arrays:
        shape = _manipulation.broadcast_shape(shape, x.shape)
    return [_C.ops.broadcast_to(x, shape) for x in arrays]


def broadcast_to(x, /, shape):
    """x repeated along dims of size 1 and new leading dims.

    Raises:
        ValueError: x does not broadcast to that shape.

    Examples:
        >>> proa.array_api.broadcast_to(proa.ones([3, 1]), (2, 3, 4)).shape
        [2, 3, 4]
    """
    return _C.ops.broadcast_to(x, list(shape))


def concat(arrays, /, *, axis=0):
    """The tensors one after the other along an axis; with None, flattened.

    Examples:
        >>> proa.array_api.concat([proa.ones([1, 2]), proa.zeros([2])[None]], axis=None).shape
        [4]
    """
    if axis is None:
        arrays, axis = [_C.ops.reshape(x, [-1]) for x in arrays], 0
    return _C.ops.concat(list(arrays), axis)


def expand_dims(x, /, axis=0):
    """x with a new dim of size 1 at `axis`.

    Raises:
        IndexError: axis is not in [-rank - 1, rank].

    Examples:
        >>> proa.array_api.expand_dims(proa.ones([2]), axis=-1).shape
        [2, 1]
    """
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise _C.located(IndexError(f"expand_dims: axis is {axis}; x has {x.ndim} dims"))
    return _C.ops.unsqueeze(x, [axis])


def flip(x, /, *, axis=None):
    """x with the order of elements reversed along axes, all unless given.

    Examples:
        >>> proa.array_api.flip(proa.to_tensor([[1, 2], [3, 4]]), axis=1).tolist()
        [[2, 1], [4, 3]]
    """
    axes = list(range(x.ndim)) if axis is None else axes_of(axis)
    return _C.ops.flip(x, axes) if axes else _C.ops.assign(x)


def moveaxis(x, source, destination, /):
    """x with axes moved to other places.

    Examples:
        >>> proa.array_api.moveaxis(proa.ones([2, 3, 4]), 0, -1).shape
        [3, 4, 2]
    """
    return _manipulation.moveaxis(x, axes_of(source), axes_of(destination))


def permute_dims(x, /, axes):
    """x with dim i of the result being dim axes[i] of x.

    Examples:
        >>> proa.array_api.permute_dims(proa.ones([2, 3, 4]), (2, 0, 1)).shape
        [4, 2, 3]
    """
    if len(axes) != x.ndim:
        raise _C.located(ValueError(f"permute_dims: axes are {tuple(axes)}; x has {x.ndim} dims"))
    return _C.ops.transpose(x, list(axes)) if x.ndim else x


def repeat(x, repeats, /, *, axis=None):
    """Each element along an axis (of x flattened, with None) repeated.

    Examples:
        >>> proa.array_api.repeat(proa.to_tensor([1, 2]), proa.to_tensor([2, 1])).tolist()
        [1, 1, 2]
    """
    if axis is None:
        x, axis = _C.ops.reshape(x, [-1]), 0
    if isinstance(repeats, _C.Tensor):
        repeats = repeats.reshape([-1]).tolist()
    return _C.ops.repeat_interleave(x, [repeats] if isinstance(repeats, int) else list(repeats), axis)


def reshape(x, /, shape, *, copy=None):
    """The elements under another shape; -1 for one size that follows from the others.

    Examples:
        >>> proa.array_api.reshape(proa.ones([6]), (2, -1)).shape
        [2, 3]
    """
    if copy is False and not x.is_contiguous():
        raise _C.located(ValueError("reshape: x is not contiguous and needs a copy, but copy=False"))
    # Proa's 0 means "as in x", the standard's is a size.
    if 0 in shape and -1 not in shape:
        if x.size:
            raise _C.located(ValueError(f"reshape: {x.size} elements do not fit into {tuple(shape)}"))
        return _C.ops.full(list(shape), 0, x.dtype)
    out = _C.ops.reshape(x, list(shape))
    return _C.ops.assign(out) if copy else out


def roll(x, /, shift, *, axis=None):
    """x with the elements along axes (of x flattened, with None) moved up, those pushed out coming in at the other end.

    Examples:
        >>> proa.array_api.roll(proa.to_tensor([1, 2, 3]), 1).tolist()
        [3, 1, 2]
    """
    if axis is None:
        return _C.ops.reshape(_C.ops.roll(_C.ops.reshape(x, [-1]), axes_of(shift), [0]), x.shape)
    axes, shifts = axes_of(axis), axes_of(shift)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    return _C.ops.roll(x, shifts, axes)


def squeeze(x, /, axis):
    """x without dims of size 1.

    Raises:
        ValueError: the size of a dim that is named is another.

    Examples:
        >>> proa.array_api.squeeze(proa.ones([1, 2]), 0).shape
        [2]
    """
    axes = axes_of(axis)
    for a in axes:
        if -x.ndim <= a < x.ndim and x.shape[a] != 1:
            raise _C.located(ValueError(f"squeeze: dim {a} has size {x.shape[a]}; x is {x.shape} {x.dtype.name}"))
    return _C.ops.squeeze(x, axes) if axes else x


def stack(arrays, /, *, axis=0):
    """The tensors, all of one shape, along a new axis.

    Examples:
        >>> proa.array_api.stack([proa.ones([2]), proa.zeros([2])], axis=1).tolist()
        [[1.0, 0.0], [1.0, 0.0]]
    """
    return _C.ops.stack(list(arrays), axis)


def tile(x, repetitions, /):
    """x repeated along each dim.

    Examples:
        >>> proa.array_api.tile(proa.to_tensor([1, 2]), (2, 2)).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return _C.ops.tile(x, list(repetitions)) if len(repetitions) else _C.ops.assign(x)


def unstack(x, /, *, axis=0):
    """The slices of x along an axis, as a tuple.

    Examples:
        >>> [part.tolist() for part in proa.array_api.unstack(proa.to_tensor([[1, 2], [3, 4]]), axis=1)]
        [[1, 3], [2, 4]]
    """
    return tuple(_C.ops.unbind(x, axis))
