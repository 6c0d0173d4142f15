"""Median, quantiles and histograms."""

from proa import _C
from proa.tensor.manipulation import axis_of


def _axes(op, x, axis):
    if axis is None:
        return list(range(len(x.shape)))
    axes = [axis] if isinstance(axis, int) else list(axis)
    return [axis_of(op, a, x) for a in axes]


def _rows(op, x, axis):
    """x with the axes of `axis` put together at the end, and the shape of the rest with ones for them."""
    axes = _axes(op, x, axis)
    rest = [i for i in range(len(x.shape)) if i not in axes]
    kept = [1 if i in axes else x.shape[i] for i in range(len(x.shape))]
    count = 1
    for a in axes:
        count *= x.shape[a]
    if count == 0:
        raise _C.located(ValueError(f"{op}: there are no elements to choose from; x is {list(x.shape)} {x.dtype.name}"))
    turned = _C.ops.transpose(x, [*rest, *axes])
    return _C.ops.reshape(turned, [*(x.shape[i] for i in rest), count]), kept, count


def median(x, axis=None, keepdim=False, name=None):
    """The middle element, or the mean of the two in the middle.

    Args:
        x (Tensor): real.
        axis (int, optional): along which; over all elements unless given.
        keepdim (bool): keep the axis, with size 1.

    Examples:
        >>> proa.median(proa.to_tensor([3.0, 1.0, 2.0])).item()
        2.0
    """
    rows, kept, count = _rows("median", x, axis)
    rows = rows if rows.is_floating_point() else rows.astype(_C.get_default_dtype())
    ordered = _C.ops.sort(rows, -1, False)[0]
    middle = ordered[..., (count - 1) // 2]
    if count % 2 == 0:
        middle = (middle + ordered[..., count // 2]) * 0.5
    # NaN sorts last; any NaN makes the median NaN.
    middle = middle + ordered[..., -1] * 0.0 if not bool(ordered.isinf().any()) else middle
    return _C.ops.reshape(middle, kept) if keepdim else middle


def quantile(x, q, axis=None, keepdim=False, name=None):
    """The value below which a part q of the elements lies, interpolated.

    Args:
        x (Tensor): floating point.
        q (float|list[float]): in [0, 1]; a list gives a result with a first dim for its items.
        axis (int|list[int], optional): along which; over all elements unless given.
        keepdim (bool): keep the axes, with size 1.
    """
    many = isinstance(q, (list, tuple))
    parts = list(q) if many else [q]
    if not parts or any(not 0 <= part <= 1 for part in parts):
        raise _C.located(ValueError(f"quantile: q must be in [0, 1]; it is {q}"))
    rows, kept, count = _rows("quantile", x, axis)
    ordered = _C.ops.sort(rows, -1, False)[0]
    out = []
    for part in parts:
        place = part * (count - 1)
        low = min(int(place), count - 1)
        value = ordered[..., low]
        if place > low:
            value = value + (ordered[..., low + 1] - value) * (place - low)
        out.append(_C.ops.reshape(value, kept) if keepdim else value)
    return _C.ops.stack(out, 0) if many else out[0]


def histogram(input, bins=100, min=0, max=0, name=None):
    """How many elements lie in each of `bins` equal cells from min to max.

    Args:
        input (Tensor): real.
        bins (int): number of cells.
        min, max (float): the range; that of the elements if both are 0. Elements outside do not count.

    Returns:
        Tensor: int64, [bins].
    """
    if not isinstance(bins, int) or bins < 1:
        raise _C.located(ValueError(f"histogram: bins must be a positive int, not {bins!r}"))
    if min > max:
        raise _C.located(ValueError(f"histogram: min must not be above max; they are {min} and {max}"))
    x = _C.ops.reshape(input, [-1]).astype("float64")
    if min == max == 0 and x.shape[0]:
        min, max = x.min().item(), x.max().item()
    if min == max:
        min, max = min - 1.0, max + 1.0
    inside = _C.ops.masked_select(x, _C.ops.logical_and(x >= float(min), x <= float(max)))
    cell = _C.ops.floor((inside - float(min)) * (bins / (max - min))).astype("int64")
    return bincount(_C.ops.clip(cell, None, bins - 1), None, bins)


def bincount(x, weights=None, minlength=0, name=None):
    """How often each number is there, or the sum of its weights.

    Args:
        x (Tensor): integers >= 0, [N].
        weights (Tensor, optional): [N].
        minlength (int): length of the result at least.
    """
    if len(x.shape) != 1 or not x.is_integer():
        raise _C.located(ValueError(f"bincount: x must be integers [N]; it is {list(x.shape)} {x.dtype.name}"))
    length = minlength
    if x.shape[0]:
        if x.min().item() < 0:
            raise _C.located(ValueError("bincount: x must not be negative"))
        length = max(minlength, int(x.max().item()) + 1)
    if weights is None:
        weights = _C.ops.full([x.shape[0]], 1, _C.int64)
    elif list(weights.shape) != list(x.shape):
        raise _C.located(ValueError(f"bincount: weights must be {list(x.shape)}; they are {list(weights.shape)}"))
    start = _C.ops.full([length], 0, weights.dtype)
    return _C.ops.scatter_nd_add(start, _C.ops.unsqueeze(x, 1), weights)
