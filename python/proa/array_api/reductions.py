"""Sums, means, extremes, differences, and whether all or any elements hold."""

from proa import _C
from proa.array_api.dtypes import is_kind
from proa.array_api.manipulation import axes_of
from proa.tensor import math as _math

__all__ = [
    "all",
    "any",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def _widest(x, dtype):
    """The dtype of sums and products: int64 of integers, that of x else."""
    if dtype is not None:
        return dtype
    return _C.int64 if is_kind(x, "integral") or is_kind(x, "bool") else x.dtype


def _reduced(op, x, axis, keepdims, *settings):
    """An op over dims; over none, x itself, whose elements each stand for themselves."""
    return op(_C.ops.unsqueeze(x, [x.ndim]), [x.ndim], *settings) if axis == () else op(x, axes_of(axis), *settings)


def all(x, /, *, axis=None, keepdims=False):  # noqa: A001
    """Whether all elements are nonzero, over axes; all of them unless given.

    Examples:
        >>> proa.array_api.all(proa.to_tensor([[True, False], [True, True]]), axis=1).tolist()
        [False, True]
    """
    return _reduced(_C.ops.all, x, axis, keepdims, keepdims and axis != ())


def any(x, /, *, axis=None, keepdims=False):  # noqa: A001
    """Whether any element is nonzero, over axes; all of them unless given.

    Examples:
        >>> proa.array_api.any(proa.to_tensor([[True, False], [False, False]]), axis=1).tolist()
        [True, False]
    """
    return _reduced(_C.ops.any, x, axis, keepdims, keepdims and axis != ())


def max(x, /, *, axis=None, keepdims=False):  # noqa: A001
    """The largest element over axes; NaN where there is one.

    Raises:
        ValueError: there are no elements.

    Examples:
        >>> proa.array_api.max(proa.to_tensor([[1, 5], [7, 2]]), axis=0).tolist()
        [7, 5]
    """
    return _reduced(_C.ops.max, x, axis, keepdims, keepdims and axis != ())


def min(x, /, *, axis=None, keepdims=False):  # noqa: A001
    """The smallest element over axes; NaN where there is one.

    Raises:
        ValueError: there are no elements.

    Examples:
        >>> proa.array_api.min(proa.to_tensor([[1, 5], [7, 2]]), axis=0).tolist()
        [1, 2]
    """
    return _reduced(_C.ops.min, x, axis, keepdims, keepdims and axis != ())


def mean(x, /, *, axis=None, keepdims=False):
    """The mean over axes.

    Examples:
        >>> proa.array_api.mean(proa.to_tensor([[1.0, 3.0]]), axis=1, keepdims=True).tolist()
        [[2.0]]
    """
    return _reduced(_C.ops.mean, x, axis, keepdims, keepdims and axis != ())


def sum(x, /, *, axis=None, dtype=None, keepdims=False):  # noqa: A001
    """The sum over axes; of integers in int64 unless `dtype` is given.

    Examples:
        >>> proa.array_api.sum(proa.to_tensor([200, 100], dtype="uint8"))
        Tensor(shape=[], dtype=int64, place=Place(cpu), stop_gradient=True,
               300)
    """
    return _reduced(_C.ops.sum, x, axis, keepdims, _widest(x, dtype), keepdims and axis != ())


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over axes; of integers in int64 unless `dtype` is given.

    Examples:
        >>> proa.array_api.prod(proa.to_tensor([2, 3, 4])).item()
        24
    """
    return _reduced(_C.ops.prod, x.astype(_widest(x, dtype)), axis, keepdims, keepdims and axis != ())


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance over axes: squared distances from the mean, over their number less `correction`.

    Examples:
        >>> proa.array_api.var(proa.to_tensor([1.0, 3.0]), correction=1).item()
        2.0
    """
    axes = range(x.ndim) if axis is None else axes_of(axis)
    count = 1
    for a in axes:
        count *= x.shape[a]
    out = _reduced(_C.ops.var, x, axis, keepdims, False, keepdims and axis != ())
    if not correction:
        return out
    left = count - correction
    return out * (count / left) if left > 0 else out * float("nan")


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of `var`.

    Examples:
        >>> proa.array_api.std(proa.to_tensor([1.0, 3.0])).item()
        1.0
    """
    return _C.ops.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _running(op, x, axis, dtype, include_initial, first):
    if axis is None:
        if x.ndim != 1:
            raise _C.located(ValueError(f"axis must be given: x has {x.ndim} dims"))
        axis = 0
    out = op(x.astype(_widest(x, dtype)), axis)
    if include_initial:
        shape = list(x.shape)
        shape[axis] = 1
        out = _C.ops.concat([_C.ops.full(shape, first, out.dtype), out], axis)
    return out


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running sums along an axis, with a zero before them if `include_initial`.

    Examples:
        >>> proa.array_api.cumulative_sum(proa.to_tensor([1, 2, 3]), include_initial=True).tolist()
        [0, 1, 3, 6]
    """
    return _running(_C.ops.cumsum, x, axis, dtype, include_initial, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along an axis, with a one before them if `include_initial`.

    Examples:
        >>> proa.array_api.cumulative_prod(proa.to_tensor([2, 3, 4])).tolist()
        [2, 6, 24]
    """
    return _running(_C.ops.cumprod, x, axis, dtype, include_initial, 1)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Differences of neighbours along an axis, n times.

    Examples:
        >>> proa.array_api.diff(proa.to_tensor([1, 4, 9]), n=2).tolist()
        [2]
    """
    if n == 0:
        parts = [part for part in (prepend, x, append) if part is not None]
        return _C.ops.concat(parts, axis)
    return _math.diff(x, n, axis, prepend, append)
