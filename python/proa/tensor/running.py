"""Running sums of exponentials, areas, powers and distances: names of releases after 2.3."""

import math

from proa import _C
from proa.framework.attributes import is_late, known_int, known_real, real, word
from proa.framework.dtype import as_dtype
from proa.tensor.attribute import optional_tensor
from proa.tensor.elementary import floats, pair
from proa.tensor.manipulation import known_axis_of
from proa.tensor.method import method as _method
from proa.tensor.placing import of_one_dim
from proa.tensor.precision import keeps_types, narrowed, widened

__all__ = [
    "cdist",
    "cumulative_trapezoid",
    "logcumsumexp",
    "pdist",
    "trapezoid",
    "vander",
]

# Of so many rows `cdist` compares each pair.
_FEW_ROWS = 25
# Columns of `vander` that may be asked for.
_MOST_POWERS = 1 << 31

_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@_method
def logcumsumexp(x, axis=None, dtype=None, name=None):
    """log(cumsum(exp(x))), without overflow on the way.

    Args:
        x (Tensor): floating numbers, of any shape.
        axis (int, optional): along which; by default over all elements, in row-major order.
        dtype (str, optional): that x is made of first.

    Examples:
        >>> proa.logcumsumexp(proa.to_tensor([1000.0, 1000.0])).tolist()
        [1000.0, 1000.6931762695312]
    """
    x = _C.tensor_argument(x, "logcumsumexp", "x")
    return _C.ops.logcumsumexp(x if dtype is None else x.astype(as_dtype(dtype)), axis)


@_method
def vander(x, n=None, increasing=False, name=None):
    """Powers of the elements of x [N] as rows [N, n], from x**(n - 1) down to 1.

    Args:
        x (Tensor): [N].
        n (int, optional): columns; by default as many as rows.
        increasing (bool): whether powers rise from 1.

    Examples:
        >>> proa.vander(proa.to_tensor([1, 2, 3])).tolist()
        [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    x = of_one_dim("vander", "x", _C.tensor_argument(x, "vander", "x"))
    if n is None and is_late(x.shape[0]):
        raise _C.located(ValueError("vander: the size of x must be known, or n be given"))
    n = known_int("vander", "n", x.shape[0] if n is None else n)
    if n > _MOST_POWERS:
        raise _C.located(ValueError(f"vander: n must be at most {_MOST_POWERS}; it is {n}"))
    if n < 0:
        raise _C.located(ValueError(f"vander: n must not be negative; it is {n}"))
    column = _C.ops.unsqueeze(x, [1])
    first = _C.ops.full_like(column, 1)
    if n == 0:
        return first[:, :0]
    powers = [first] if n == 1 else [first, _C.ops.cumprod(_C.ops.tile(column, [1, n - 1]), 1)]
    out = _C.ops.concat(powers, 1)
    return out if increasing else _C.ops.flip(out, [1])


def _areas(op, y, x, dx, axis):
    """What lies between neighbours of y along an axis, and the axis."""
    y = floats(_C.tensor_argument(y, op, "y"))
    x = optional_tensor(x, op, "x")
    if x is not None and dx is not None:
        raise _C.located(ValueError(f"{op}: give x or dx, not both"))
    axis = known_axis_of(op, axis, y, tensor="y")
    if x is None:
        width = 1.0 if dx is None else real(op, "dx", dx)
    else:
        if len(x.shape) == 1 and len(y.shape) > 1:
            x = _C.ops.reshape(x, [-1 if d == axis else 1 for d in range(len(y.shape))])
        if len(x.shape) != len(y.shape):
            raise _C.located(
                ValueError(f"{op}: x must have one dim or those of y, {list(y.shape)}; it is {list(x.shape)}")
            )
        width = _C.ops.slice(x, [axis], [1], [2**63 - 1]) - _C.ops.slice(x, [axis], [0], [-1])
    later, earlier = _C.ops.slice(y, [axis], [1], [2**63 - 1]), _C.ops.slice(y, [axis], [0], [-1])
    return (later + earlier) * width / 2.0, axis


@_method
def trapezoid(y, x=None, dx=None, axis=-1, name=None):
    """The area below y by the trapezoidal rule, along an axis.

    Args:
        y (Tensor): one dim or more.
        x (Tensor, optional): where the values are, [N] or of the shape of y.
        dx (float, optional): how far they are apart, without x; 1 unless given.
        axis (int): along which.

    Examples:
        >>> proa.trapezoid(proa.to_tensor([1.0, 2.0, 4.0]), x=proa.to_tensor([0.0, 1.0, 3.0])).item()
        7.5
    """
    areas, axis = _areas("trapezoid", y, x, dx, axis)
    return _C.ops.sum(areas, [axis])


@_method
def cumulative_trapezoid(y, x=None, dx=None, axis=-1, name=None):
    """The areas below y up to each value but the first by the trapezoidal rule; arguments as of `trapezoid`.

    Examples:
        >>> proa.cumulative_trapezoid(proa.to_tensor([1.0, 2.0, 4.0])).tolist()
        [1.5, 4.5]
    """
    areas, axis = _areas("cumulative_trapezoid", y, x, dx, axis)
    return _C.ops.cumsum(areas, axis)


def _distance(op, difference, p):
    p = known_real(op, "p", p)
    if not p >= 0:
        raise _C.located(ValueError(f"{op}: p must not be negative; it is {p}"))
    if p == 0 or (difference.shape[-1:] == [0] and math.isinf(p)):
        return _C.ops.sum((difference != 0).astype(difference.dtype), [-1])
    return _C.ops.p_norm(difference, p, [-1])


def _cdist_by_products(x, y):
    given = x, y
    x, y = widened(x), widened(y)  # squares, of which differences are taken
    of_x = _C.ops.sum(x * x, [-1], None, True)
    of_y = _C.ops.unsqueeze(_C.ops.sum(y * y, [-1]), [-2])
    square = of_x + of_y - 2 * _C.ops.matmul(x, y, False, True)
    near = square <= 0  # by rounding; NaN is not
    distance = _C.ops.sqrt(_C.ops.where(near, _C.ops.full_like(square, 1), square))
    return narrowed(_C.ops.where(near, _C.ops.full_like(square, 0), distance), *given)


def _cdist_of_pairs(x, y, p):
    return _distance("cdist", _C.ops.unsqueeze(x, [-2]) - _C.ops.unsqueeze(y, [-3]), p)


@_method
@keeps_types
def cdist(x, y, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary", name=None):
    """Distances of rows: [..., P, M] and [..., R, M] give [..., P, R].

    Args:
        x, y (Tensor): floating numbers, of dims before the last two that broadcast.
        p (float): of the norm of their difference, from 0 to infinity.
        compute_mode (str): "use_mm_for_euclid_dist": for p = 2 by products of matrices, which takes less memory and has
            errors of the size of the rows; "use_mm_for_euclid_dist_if_necessary": so for more than 25 rows;
            "donot_use_mm_for_euclid_dist": never.

    Examples:
        >>> proa.cdist(proa.to_tensor([[0.0, 0.0]]), proa.to_tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
        [[5.0, 1.0]]
    """
    x, y = (floats(t) for t in pair("cdist", x, y))
    word("cdist", "compute_mode", compute_mode, _MODES)
    for name, t in (("x", x), ("y", y)):
        if len(t.shape) < 2 or not t.is_floating_point():
            what = f"it is {list(t.shape)} {t.dtype.name}"
            raise _C.located(ValueError(f"cdist: {name} must be rows [..., N, M] of floating numbers; {what}"))
    by_products = known_real("cdist", "p", p) == 2 and compute_mode != _MODES[2]
    if by_products and compute_mode == _MODES[0]:
        sizes = [t.shape[-2] for t in (x, y)]
        by_products = any(size > _FEW_ROWS for size in sizes if not is_late(size))
        if not by_products and is_late(*sizes):
            counts = [_C.ops.shape(t)[-2] for t in (x, y)]
            many = _C.ops.logical_or(*(_C.ops.greater_than(count, _FEW_ROWS) for count in counts))
            return _C.cond(many, lambda: [_cdist_by_products(x, y)], lambda: [_cdist_of_pairs(x, y, p)])[0]
    return _cdist_by_products(x, y) if by_products else _cdist_of_pairs(x, y, p)


@_method
@keeps_types
def pdist(x, p=2.0, name=None):
    """Distances of each row of x [N, M] from those behind it: [N (N - 1) / 2].

    Examples:
        >>> proa.pdist(proa.to_tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).tolist()[:2]
        [5.0, 1.0]
    """
    x = _C.tensor_argument(x, "pdist", "x")
    if len(x.shape) != 2 or not x.is_floating_point():
        what = f"it is {list(x.shape)} {x.dtype.name}"
        raise _C.located(ValueError(f"pdist: x must be rows [N, M] of floating numbers; {what}"))
    if is_late(x.shape[0]):
        raise _C.located(ValueError(f"pdist: the number of rows must be known; x is {list(x.shape)}"))
    first, second = _C.ops.unbind(_C.ops.triu_indices(x.shape[0], x.shape[0], 1), 0)
    return _distance("pdist", _C.ops.gather(x, first, 0) - _C.ops.gather(x, second, 0), p)
