"""Finding, ordering and picking elements."""

import collections

from proa import _C

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "sort",
    "take",
    "take_along_axis",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]

UniqueAll = collections.namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = collections.namedtuple("UniqueCounts", "values counts")
UniqueInverse = collections.namedtuple("UniqueInverse", "values inverse_indices")


def argmax(x, /, *, axis=None, keepdims=False):
    """Where the largest element is, the first of equal ones.

    Examples:
        >>> proa.array_api.argmax(proa.to_tensor([[1, 5], [7, 2]]), axis=1).tolist()
        [1, 0]
    """
    return _C.ops.argmax(x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Where the smallest element is, the first of equal ones.

    Examples:
        >>> proa.array_api.argmin(proa.to_tensor([[1, 5], [7, 2]]), axis=1).tolist()
        [0, 1]
    """
    return _C.ops.argmin(x, axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are nonzero, over axes.

    Examples:
        >>> proa.array_api.count_nonzero(proa.to_tensor([[0, 1], [2, 3]]), axis=0).tolist()
        [1, 2]
    """
    from proa.array_api import reductions

    return reductions.sum(x != 0, axis=axis, keepdims=keepdims)


def nonzero(x, /):
    """The indices of the nonzero elements, a tensor for each dim.

    Examples:
        >>> [i.tolist() for i in proa.array_api.nonzero(proa.to_tensor([[0, 1], [2, 0]]))]
        [[0, 1], [1, 0]]
    """
    if not x.ndim:
        raise _C.located(ValueError("nonzero: x must have a dim"))
    return tuple(_C.ops.unbind(_C.ops.nonzero(x), 1))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where each element of x2 would be put into x1 to keep it in order.

    Args:
        side (str): "left", before equal elements, or "right", after them.
        sorter (Tensor, optional): the indices that put x1 in order.

    Examples:
        >>> proa.array_api.searchsorted(proa.to_tensor([1, 2, 2]), proa.to_tensor([2, 3]), side="right").tolist()
        [3, 3]
    """
    if side not in ("left", "right"):
        raise _C.located(ValueError(f"searchsorted: side is {side!r}; it may be 'left' or 'right'"))
    if sorter is not None:
        x1 = _C.ops.gather(x1, sorter, 0)
    return _C.ops.searchsorted(x1, x2, False, side == "right")


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis.

    Examples:
        >>> proa.array_api.sort(proa.to_tensor([3, 1, 2]), descending=True).tolist()
        [3, 2, 1]
    """
    return _C.ops.sort(x, axis, descending)[0]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that put x in order along an axis; of equal elements the first comes first.

    Examples:
        >>> proa.array_api.argsort(proa.to_tensor([3, 1, 2]), descending=True).tolist()
        [0, 2, 1]
    """
    return _C.ops.sort(x, axis, descending)[1]


def take(x, indices, /, *, axis=None):
    """The slices of x along an axis that indices name.

    Examples:
        >>> proa.array_api.take(proa.to_tensor([[1, 2], [3, 4]]), proa.to_tensor([1]), axis=1).tolist()
        [[2], [4]]
    """
    if axis is None:
        if x.ndim != 1:
            raise _C.located(ValueError(f"take: axis must be given: x has {x.ndim} dims"))
        axis = 0
    return _C.ops.gather(x, indices, axis)


def take_along_axis(x, indices, /, *, axis=-1):
    """out[..., i, ...] = x[..., indices[..., i, ...], ...]; other dims broadcast.

    Examples:
        >>> x = proa.to_tensor([[3, 1], [2, 4]])
        >>> proa.array_api.take_along_axis(x, proa.array_api.argsort(x)).tolist()
        [[1, 3], [2, 4]]
    """
    from proa.tensor.manipulation import broadcast_shape

    at = axis % x.ndim
    shapes = [[1 if d == at else size for d, size in enumerate(t.shape)] for t in (x, indices)]
    common = broadcast_shape(*shapes)
    wide = [_C.ops.broadcast_to(t, [*common[:at], t.shape[at], *common[at + 1 :]]) for t in (x, indices)]
    return _C.ops.take_along_axis(*wide, at)


def _unique(x):
    """(values, indices, inverse, counts) of x flattened; each NaN is a value of its own."""
    flat = _C.ops.reshape(x, [-1])
    if not x.is_floating_point() or not x.size:
        values, indices, inverse, counts = _C.ops.unique(flat)
        return values, indices, _C.ops.reshape(inverse, x.shape), counts
    ordered, order = _C.ops.sort(flat, 0)
    starts = _C.ops.concat([_C.ops.full([1], True, _C.bool), ordered[1:] != ordered[:-1]], 0)
    first = _C.ops.reshape(_C.ops.nonzero(starts), [-1])
    group = _C.ops.cumsum(starts, 0) - 1
    inverse = _C.ops.gather(group, _C.ops.argsort(order, 0), 0)
    ends = _C.ops.concat([first[1:], _C.ops.full([1], flat.size, _C.int64)], 0)
    values, indices = _C.ops.gather(ordered, first, 0), _C.ops.gather(order, first, 0)
    return values, indices, _C.ops.reshape(inverse, x.shape), ends - first


def unique_all(x, /):
    """The different elements, where each is first, which one each element is, and how many there are of each.

    Examples:
        >>> found = proa.array_api.unique_all(proa.to_tensor([3, 1, 3]))
        >>> found.values.tolist(), found.counts.tolist()
        ([1, 3], [1, 2])
    """
    return UniqueAll(*_unique(x))


def unique_counts(x, /):
    """The different elements and how many there are of each.

    Examples:
        >>> proa.array_api.unique_counts(proa.to_tensor([3, 1, 3])).counts.tolist()
        [1, 2]
    """
    values, _, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x, /):
    """The different elements and which one each element is.

    Examples:
        >>> proa.array_api.unique_inverse(proa.to_tensor([3, 1, 3])).inverse_indices.tolist()
        [1, 0, 1]
    """
    values, _, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x, /):
    """The different elements, in order.

    Examples:
        >>> proa.array_api.unique_values(proa.to_tensor([3, 1, 3])).tolist()
        [1, 3]
    """
    return _unique(x)[0]


def where(condition, x1, x2, /):
    """x1 where the condition holds, else x2.

    Examples:
        >>> proa.array_api.where(proa.to_tensor([True, False]), proa.to_tensor([1, 2]), proa.to_tensor([8, 9])).tolist()
        [1, 9]
    """
    return _C.ops.where(condition, x1, x2)
