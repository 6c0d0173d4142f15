"""Median, quantiles and histograms."""

from proa import _C
from proa.framework.attributes import an_int, is_late, known, known_real, number, numbers, reals
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require
from proa.tensor.attribute import optional_tensor
from proa.tensor.manipulation import known_axis_of
from proa.tensor.method import method as _method

__all__ = [
    "bincount",
    "histogram",
    "median",
    "nanmedian",
    "nanquantile",
    "quantile",
]


def _axes(op, x, axis):
    if axis is None:
        return list(range(len(x.shape)))
    axis = numbers(axis)
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if not x.shape and all(a in (0, -1) for a in axes):
        return []  # as in reductions: one number is its own only row
    return [known_axis_of(op, a, x) for a in axes]


def _rows(op, x, axis):
    """x with the axes of `axis` put together at the end, and the shape of the rest with ones for them."""
    axes = _axes(op, x, axis)
    rest = [i for i in range(len(x.shape)) if i not in axes]
    kept = [1 if i in axes else x.shape[i] for i in range(len(x.shape))]
    count = 1
    for a in axes:
        count *= x.shape[a]
    if not is_late(count) and count == 0:
        raise _C.located(ValueError(f"{op}: there are no elements to choose from; x is {list(x.shape)} {x.dtype.name}"))
    turned = _C.ops.transpose(x, [*rest, *axes])
    if is_late(count):
        shape = _C.ops.shape(x)
        says = f"{op}: there are no elements to choose from; x is {{}} {x.dtype.name}"
        turned = require(turned, _C.ops.stack([shape[a] for a in axes], 0) > 0, says, shape)
    return _C.ops.reshape(turned, [*(x.shape[i] for i in rest), count]), kept, count


def _at(ordered, last, part):
    """The interpolated element at `part` of the way from the first to number `last` of each row.

    `last` is the same number for all rows, or an int64 tensor of one for each row, -1 where there is none (NaN then).
    """
    if isinstance(last, int):
        place = part * last
        low = min(int(place), last)
        value = ordered[..., low]
        return value if place == low else _between(value, ordered[..., low + 1], place - low)
    ops = _C.ops
    last = ops.unsqueeze(last, -1)
    place = last.astype("float64") * part
    low = ops.clip(ops.floor(place).astype("int64"), 0, None)
    high = ops.clip(ops.minimum(low + 1, last), 0, None)
    below, above = ops.take_along_axis(ordered, low, -1), ops.take_along_axis(ordered, high, -1)
    share = (place - low.astype("float64")).astype(ordered.dtype)
    value = ops.where(share == 0.0, below, _between(below, above, share))
    return ops.squeeze(value, -1)


def _between(below, above, share):
    """What lies at `share` of the way from below to above; beside an infinity, and a difference that overflows, too."""
    value = below + (above - below) * share
    return _C.ops.where(_C.ops.isfinite(value), value, below * (1 - share) + above * share)


def _quantiles(op, x, parts, axis, keepdim, skip_nan):
    """The list of quantiles at `parts`; NaN where there is one, unless they are skipped."""
    x = _C.tensor_argument(x, op, "x")
    rows, kept, count = _rows(op, x, axis)
    rows = rows if rows.is_floating_point() else rows.astype(_C.get_default_dtype())
    ordered = _C.ops.sort(rows, -1, False)[0]  # NaN comes last
    if skip_nan or is_late(count):
        counted = _C.ops.isnan(rows).astype("int64")
        last = (1 - counted if skip_nan else _C.ops.full_like(counted, 1)).sum(-1) - 1
    else:
        last = count - 1
    out = [_at(ordered, last, part) for part in parts]
    if not skip_nan:
        top = ordered[..., -1]
        out = [_C.ops.where(_C.ops.isnan(top), top, value) for value in out]
    return [_C.ops.reshape(value, kept) if keepdim else value for value in out]


@_method
def median(x, axis=None, keepdim=False, name=None):
    """The middle element, or the mean of the two in the middle. NaN where there is one.

    Args:
        x (Tensor): real.
        axis (int, optional): along which; over all elements unless given.
        keepdim (bool): keep the axis, with size 1.

    Examples:
        >>> proa.median(proa.to_tensor([3.0, 1.0, 2.0])).item()
        2.0
    """
    return _quantiles("median", x, [0.5], axis, keepdim, False)[0]


@_method
def nanmedian(x, axis=None, keepdim=False, name=None):
    """The median of the elements that are not NaN; NaN where there is none. Arguments as in median.

    Examples:
        >>> proa.nanmedian(proa.to_tensor([1.0, float("nan"), 3.0, 5.0])).item()
        3.0
    """
    return _quantiles("nanmedian", x, [0.5], axis, keepdim, True)[0]


def _quantile(op, x, q, axis, keepdim, skip_nan):
    q = known(op, "q", q)
    many = isinstance(q, (list, tuple))
    parts = [known_real(op, "q", part) for part in (q if many else [q])]
    if not parts or any(not 0 <= part <= 1 for part in parts):
        raise _C.located(ValueError(f"{op}: q must be in [0, 1]; it is {q}"))
    out = _quantiles(op, x, parts, axis, keepdim, skip_nan)
    return _C.ops.stack(out, 0) if many else out[0]


@_method
def quantile(x, q, axis=None, keepdim=False, name=None):
    """The value below which a part q of the elements lies, interpolated. NaN where an element is NaN.

    Args:
        x (Tensor): real.
        q (float|list[float]): in [0, 1]; a list gives a result with a first dim for its items.
        axis (int|list[int], optional): along which; over all elements unless given.
        keepdim (bool): keep the axes, with size 1.

    Examples:
        >>> proa.quantile(proa.to_tensor([1.0, 2.0, 3.0]), 0.25).item()
        1.5
    """
    x = _C.tensor_argument(x, "quantile", "x")
    return _quantile("quantile", x, q, axis, keepdim, False)


@_method
def nanquantile(x, q, axis=None, keepdim=False, name=None):
    """quantile of the elements that are not NaN; NaN where there is none.

    Examples:
        >>> proa.nanquantile(proa.to_tensor([1.0, float("nan"), 3.0]), 0.25).item()
        1.5
    """
    x = _C.tensor_argument(x, "nanquantile", "x")
    return _quantile("nanquantile", x, q, axis, keepdim, True)


@_method
def histogram(input, bins=100, min=0, max=0, name=None):
    """How many elements lie in each of `bins` equal cells from min to max.

    Args:
        input (Tensor): real.
        bins (int|Tensor): number of cells.
        min, max (float): the range; that of the elements if they are equal. Elements outside do not count.

    Returns:
        Tensor: int64, [bins].

    Examples:
        >>> proa.histogram(proa.to_tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3).tolist()
        [0, 2, 1, 0]
    """
    input = _C.tensor_argument(input, "histogram", "input")
    if input.is_complex():
        raise _C.located(TypeError(f"histogram: input must be real; it is {list(input.shape)} {input.dtype.name}"))
    bins = number(bins)
    if not is_late(bins) and (not isinstance(bins, int) or bins < 1):
        raise _C.located(ValueError(f"histogram: bins must be a positive int, not {bins!r}"))
    min, max = reals("histogram", min=number(min), max=number(max))
    late = is_late(min, max)
    if not late and min > max:
        raise _C.located(ValueError(f"histogram: min must not be above max; they are {min} and {max}"))
    x = _C.ops.reshape(input, [-1]).astype("float64")
    low, high = (_C.ops.reshape(v, []).astype("float64") if is_late(v) else _C.to_tensor(float(v), dtype="float64")
                 for v in (min, max))  # fmt: skip
    if (late or min == max) and x.shape[0]:
        of_x = low == high
        # Its first element once more, or 0: a program may be run on no elements.
        filled = _C.ops.concat([x, _C.ops.slice(_C.ops.concat([x, _C.ops.full([1], 0.0, x.dtype)]), [0], [0], [1])])
        low, high = _C.ops.where(of_x, filled.min(), low), _C.ops.where(of_x, filled.max(), high)
    none = (low == high).astype("float64")
    low, high = low - none, high + none
    cell = _C.ops.floor((x - low) * (bins / (high - low)))
    cell = _C.ops.minimum(cell, _C.ops.full_like(cell, 0.0) + (bins - 1))
    inside = _C.ops.logical_and(x >= low, x <= high)
    # What lies outside is counted in a cell behind the last.
    cell = _C.ops.where(inside, cell, _C.ops.full_like(cell, 0.0) + bins).astype("int64")
    return _C.ops.slice(bincount(cell, None, bins + 1), [0], [0], [bins])


@_method
def bincount(x, weights=None, minlength=0, name=None):
    """How often each number is there, or the sum of its weights.

    Args:
        x (Tensor): integers >= 0, [N].
        weights (Tensor, optional): [N]; the result has their dtype if they are floating, and is float64 otherwise.
        minlength (int): length of the result at least.

    Examples:
        >>> proa.bincount(proa.to_tensor([1, 2, 1])).tolist()
        [0, 2, 1]
    """
    x = _C.tensor_argument(x, "bincount", "x")
    if len(x.shape) != 1 or not x.is_integer():
        raise _C.located(ValueError(f"bincount: x must be integers [N]; it is {list(x.shape)} {x.dtype.name}"))
    x = x.astype(_C.int64)  # one more than the largest is none of x's dtype perhaps
    minlength = an_int("bincount", "minlength", minlength)
    if not is_late(minlength) and minlength < 0:
        raise _C.located(ValueError(f"bincount: minlength must not be negative; it is {minlength}"))
    least = (
        _C.ops.reshape(minlength, [1]).astype(x.dtype) if is_late(minlength) else _C.ops.full([1], minlength, x.dtype)
    )
    length = _C.ops.max(_C.ops.concat([x + 1, least]))  # of an x without elements too
    lowest = number(_C.ops.min(x)) if x.shape[0] else 0
    if not is_late(lowest) and lowest < 0:
        raise _C.located(ValueError("bincount: x must not be negative"))
    x = _C.ops.where(x < 0, _C.ops.full_like(x, 0) + length, x)  # no index: an error when the program runs
    weights = optional_tensor(weights, "bincount", "weights")
    if weights is None:
        weights = _C.ops.full([x.shape[0]], 1, _C.int64)
    elif list(weights.shape) != list(x.shape):
        raise _C.located(ValueError(f"bincount: weights must be {list(x.shape)}; they are {list(weights.shape)}"))
    elif not weights.is_floating_point():
        weights = weights.astype("float64")
    start = _C.ops.full([length], 0, weights.dtype)
    return _C.ops.scatter_nd_add(start, _C.ops.unsqueeze(x, 1), weights)


__getattr__ = _borrow(__name__, "proa")
