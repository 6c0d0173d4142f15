"""Finding, sorting and picking elements."""

from proa import _C
from proa.framework.attributes import is_late, word, wrong
from proa.framework.dtype import as_dtype
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require_sizes, with_size
from proa.tensor.attribute import tensor_or_number
from proa.tensor.manipulation import axis_of
from proa.tensor.method import method as _method

__all__ = [
    "argmax",
    "argmin",
    "gather",
    "index_sample",
    "index_select",
    "nonzero",
    "put_along_axis",
    "put_along_axis_",
    "sort",
    "unique",
    "unique_consecutive",
    "where",
]


def where(condition, x=None, y=None, name=None):
    """Elements of x where the condition holds, of y elsewhere.

    Args:
        condition (Tensor): bool, broadcast with x and y.
        x, y (Tensor|float, optional): without both, the places where the condition holds are returned
            as `nonzero(condition, as_tuple=True)`.

    Examples:
        >>> x = proa.to_tensor([1.0, -2.0])
        >>> proa.where(x > 0, x, proa.zeros_like(x)).tolist()
        [1.0, 0.0]
    """
    if x is None and y is None:
        condition = _C.tensor_argument(condition, "where", "condition")
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        missing = "x" if x is None else "y"
        raise _C.located(TypeError(f"where: {missing} must be given too: both x and y, or neither; {missing} is None"))
    x, y = tensor_or_number(x, "where", "x"), tensor_or_number(y, "where", "y")
    if not isinstance(x, _C.Tensor):
        x = _C.to_tensor(x, dtype=y.dtype if isinstance(y, _C.Tensor) else None)
    if not isinstance(y, _C.Tensor):
        y = _C.to_tensor(y, dtype=x.dtype)
    return _C.ops.where(condition, x, y)


@_method
def nonzero(x, as_tuple=False):
    """The places of elements that are not 0.

    Returns:
        Tensor: int64, [number, dims]; or with as_tuple one [number, 1] for each dim.

    Examples:
        >>> proa.nonzero(proa.to_tensor([0.0, 2.0, 3.0])).tolist()
        [[1], [2]]
    """
    x = _C.tensor_argument(x, "nonzero", "x")
    places = _C.ops.nonzero(x)
    if not as_tuple:
        return places
    return tuple(_C.ops.slice(places, [1], [i], [i + 1]) for i in range(len(x.shape)))


@_method
def sort(x, axis=-1, descending=False, name=None):
    """The elements in order along an axis; equal ones keep theirs.

    Examples:
        >>> proa.sort(proa.to_tensor([3, 1, 2])).tolist()
        [1, 2, 3]
    """
    x = _C.tensor_argument(x, "sort", "x")
    return _C.ops.sort(x, axis, descending)[0]


def _index_dtype(op, dtype):
    if dtype is None:
        raise _C.located(ValueError(f"{op}: dtype must be int32 or int64, not None"))
    return dtype


@_method
def argmax(x, axis=None, keepdim=False, dtype="int64", name=None):
    """Index of the largest element along `axis`, the first of equal ones; NaN counts as the largest.

    Args:
        x (Tensor): real.
        axis (int, optional): all elements in row-major order unless given.
        keepdim (bool): keep the dim, with size 1.
        dtype (str): int32 or int64.

    Examples:
        >>> proa.argmax(proa.to_tensor([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
        [1, 0]
    """
    return _C.ops.argmax(x, axis, keepdim, _index_dtype("argmax", dtype))


@_method
def argmin(x, axis=None, keepdim=False, dtype="int64", name=None):
    """Index of the smallest element along `axis`, the first of equal ones; NaN counts as the smallest.

    Arguments are as in argmax.

    Examples:
        >>> proa.argmin(proa.to_tensor([3.0, 1.0, 2.0])).item()
        1
    """
    return _C.ops.argmin(x, axis, keepdim, _index_dtype("argmin", dtype))


def _column(op, index):
    """An index [number], or [number, 1], as [number]."""
    if len(index.shape) != 2:
        return index
    return _C.ops.squeeze(with_size(index, 1, 1, f"{op}: index must be [number] or [number, 1]; it is {{}}"), [1])


@_method
def gather(x, index, axis=None, name=None):
    """Slices of x along an axis.

    Args:
        x (Tensor): where from.
        index (Tensor): integers, [number] or [number, 1].
        axis (int|Tensor, optional): along which; 0 unless given.

    Examples:
        >>> proa.gather(proa.to_tensor([10, 20, 30]), proa.to_tensor([2, 0])).tolist()
        [30, 10]
    """
    x = _C.tensor_argument(x, "gather", "x")
    index = _column("gather", _C.tensor_argument(index, "gather", "index"))
    axis = 0 if axis is None else axis_of("gather", axis, x)
    return _C.ops.gather(x, index, axis)


@_method
def index_select(x, index, axis=0, name=None):
    """The slices of x along an axis that an index names.

    Args:
        x (Tensor): where from.
        index (Tensor): integers, [number] or [number, 1].
        axis (int): along which.

    Examples:
        >>> proa.index_select(proa.to_tensor([[1, 2], [3, 4]]), proa.to_tensor([1, 1]), 1).tolist()
        [[2, 2], [4, 4]]
    """
    x = _C.tensor_argument(x, "index_select", "x")
    index = _column("index_select", _C.tensor_argument(index, "index_select", "index"))
    return _C.ops.index_select(x, index, axis)


@_method
def index_sample(x, index):
    """From each row of x the elements that the row of index names: [N, M] and [N, K] to [N, K].

    Examples:
        >>> proa.index_sample(proa.to_tensor([[1, 2], [3, 4]]), proa.to_tensor([[1], [0]])).tolist()
        [[2], [3]]
    """
    x = _C.tensor_argument(x, "index_sample", "x")
    index = _C.tensor_argument(index, "index_sample", "index")
    if len(x.shape) != 2 or len(index.shape) != 2:
        raise _C.located(
            ValueError(
                f"index_sample: x must be [N, M] and index [N, K]; they are {list(x.shape)} and {list(index.shape)}"
            )
        )
    says = "index_sample: x must be [N, M] and index [N, K]; they are {} and {}"
    index = require_sizes(index, index.shape[:1], x.shape[:1], says, x, index)
    return _C.ops.take_along_axis(x, index, 1)


def _value_like(arr, value):
    value = tensor_or_number(value, "put_along_axis", "values")
    return value if isinstance(value, _C.Tensor) else _C.to_tensor(value, dtype=arr.dtype)


_PUT_REDUCTIONS = ("assign", "add", "mul", "multiply", "mean", "amin", "amax")


def _put(arr, indices, value, axis, reduce):
    return _C.ops.put_along_axis(arr, indices, value, axis, reduce)


def _constant(arr, number):
    return _C.to_tensor(number, dtype=arr.dtype)


def _known_axis(axis, arr):
    axis = axis_of("put_along_axis", axis, arr)
    if is_late(axis):
        raise wrong("put_along_axis", "axis", "known with amin, amax and without broadcast", axis)
    return axis


def _put_extreme(arr, indices, value, axis, largest, include_self):
    """Of several values for one place the last counts: so the largest, or smallest, come last; NaN last of all."""
    dims = range(len(arr.shape))
    axis = _known_axis(axis, arr)
    space = [arr.shape[d] if d != axis and indices.shape[d] == 1 else indices.shape[d] for d in dims]
    if any(arr.shape[d] == 1 and space[d] != 1 for d in dims if d != axis):
        what = f"arr is {list(arr.shape)} and indices {list(indices.shape)}"
        raise _C.located(ValueError(f"put_along_axis: amin and amax need a row of arr for each row of indices; {what}"))
    indices, value = (t if t.shape == space else _C.ops.broadcast_to(t, space) for t in (indices, value))
    down = not largest and not value.is_floating_point()
    keys = value.detach()
    order = _C.ops.argsort(keys if largest or down else -keys, axis, down)
    value, indices = (_C.ops.take_along_axis(t, order, axis) for t in (value, indices))
    found = _put(arr, indices, value, axis, "assign")
    if not include_self:
        return found
    return (_C.ops.maximum if largest else _C.ops.minimum)(arr, found)


@_method
def put_along_axis(
    arr, indices, values=None, axis=None, reduce="assign", include_self=True, broadcast=True, *, value=None
):
    """A copy of arr with values put in, or reduced with what is there, at the places that indices name along an axis.

    Args:
        arr (Tensor): any shape.
        indices (Tensor): integers, of as many dims; where they have size 1, but for `axis`, they serve for all of arr.
        values (Tensor|float): broadcast to the places. Also called value.
        axis (int): along which indices count.
        reduce (str): "assign", of which the last for a place counts; "add", "mul" ("multiply"), "mean" (of integers rounded down),
            "amin" or "amax". Of values that are equally small or large one has the gradient.
        include_self (bool): whether the elements of arr at the places count among the values, but for "assign".
        broadcast (bool): false if indices serve for the first rows of arr, as many as they have, alone.

    Raises:
        ValueError: another reduce.
        IndexError: an index that arr does not have.

    Examples:
        >>> proa.put_along_axis(proa.zeros([2, 2]), proa.to_tensor([[1], [0]]), 5.0, 1).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
        >>> x, at, values = proa.to_tensor([[9.0, 2.0]]), proa.to_tensor([[0, 0]]), proa.to_tensor([[3.0, 6.0]])
        >>> [proa.put_along_axis(x, at, values, 1, reduce).tolist() for reduce in ("mean", "amin")]
        [[[6.0, 2.0]], [[3.0, 2.0]]]
        >>> proa.put_along_axis(x, at, values, 1, "mean", include_self=False).tolist()
        [[4.5, 2.0]]
    """
    arr = _C.tensor_argument(arr, "put_along_axis", "arr")
    indices = _C.tensor_argument(indices, "put_along_axis", "indices")
    word("put_along_axis", "reduce", reduce, _PUT_REDUCTIONS)
    value = _value_like(arr, values if value is None else value)
    reduce = "multiply" if reduce == "mul" else reduce
    if not broadcast:
        return _put_first_rows(arr, indices, value, axis, reduce, include_self)
    if reduce in ("amin", "amax"):
        return _put_extreme(arr, indices, value, axis, reduce == "amax", include_self)
    start = arr
    if not include_self and reduce != "assign":
        start = _put(arr, indices, _constant(arr, 1 if reduce == "multiply" else 0), axis, "assign")
    if reduce != "mean":
        return _put(start, indices, value, axis, reduce)
    one = _constant(arr, 1)
    count = _C.ops.full_like(arr.detach(), 1)
    count = count if include_self else _put(count, indices, _constant(arr, 0), axis, "assign")
    count = _put(count, indices, one, axis, "add")
    total = _put(start, indices, value, axis, "add")
    exact = arr.is_floating_point() or arr.is_complex()
    return (_C.ops.divide if exact else _C.ops.floor_divide)(total, count)


def _put_first_rows(arr, indices, value, axis, reduce, include_self):
    """put_along_axis in as many rows as indices have, of each dim but the axis."""
    axis = _known_axis(axis, arr)
    if len(indices.shape) != len(arr.shape) or any(
        n > m for d, (n, m) in enumerate(zip(indices.shape, arr.shape, strict=True)) if d != axis
    ):
        what = f"arr is {list(arr.shape)} and indices {list(indices.shape)}"
        raise _C.located(ValueError(f"put_along_axis: indices must fit into arr unless they are broadcast; {what}"))
    part = tuple(slice(None) if d == axis else slice(0, n) for d, n in enumerate(indices.shape))
    rows = put_along_axis(arr[part], indices, value, axis, reduce, include_self)
    if list(rows.shape) == list(arr.shape):
        return rows
    out = _C.ops.assign(arr)
    out[part] = rows
    return out


@_method
def put_along_axis_(
    arr, indices, values=None, axis=None, reduce="assign", include_self=True, broadcast=True, *, value=None
):
    """put_along_axis in place.

    Examples:
        >>> x = proa.zeros([1, 2])
        >>> _ = proa.put_along_axis_(x, proa.to_tensor([[1]]), 5.0, 1)
        >>> x.tolist()
        [[0.0, 5.0]]
    """
    arr = _C.tensor_argument(arr, "put_along_axis_", "arr")
    arr[...] = put_along_axis(arr, indices, values, axis, reduce, include_self, broadcast, value=value)
    return arr


def _picked(results, dtype):
    """The values alone, or a tuple of values and whole numbers in `dtype`."""
    dtype = as_dtype(dtype)
    out = [results[0], *(r if r.dtype == dtype else _C.ops.cast(r, dtype) for r in results[1:])]
    return out[0] if len(out) == 1 else tuple(out)


@_method
def unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None, dtype="int64", name=None):
    """The different elements (or slices along an axis), in order.

    Args:
        x (Tensor): where from.
        return_index (bool): also where each is first.
        return_inverse (bool): also which of them each element is.
        return_counts (bool): also how often each is there.
        axis (int, optional): compare slices along it; all elements unless given.
        dtype (str): of these numbers, "int32" or "int64".

    Examples:
        >>> proa.unique(proa.to_tensor([2, 3, 3, 1])).tolist()
        [1, 2, 3]
    """
    x = _C.tensor_argument(x, "unique", "x")
    out, index, inverse, counts = _C.ops.unique(x, axis)
    wanted = [(return_index, index), (return_inverse, inverse), (return_counts, counts)]
    return _picked([out, *(r for want, r in wanted if want)], dtype)


@_method
def unique_consecutive(x, return_inverse=False, return_counts=False, axis=None, dtype="int64", name=None):
    """The elements (or slices along an axis) without repetitions that follow each other; arguments as in unique.

    Examples:
        >>> proa.unique_consecutive(proa.to_tensor([1, 1, 2, 1])).tolist()
        [1, 2, 1]
    """
    x = _C.tensor_argument(x, "unique_consecutive", "x")
    if not (return_inverse or return_counts) and (axis is None or axis in (0, -1) and len(x.shape) == 1):
        flat = _C.ops.reshape(x, [-1])
        if not _C.is_symbolic(flat) and flat.shape[0] > _PART:
            return _first_of_runs(flat.detach())
    out, inverse, counts = _C.ops.unique_consecutive(x, axis)
    return _picked([out, *(r for want, r in ((return_inverse, inverse), (return_counts, counts)) if want)], dtype)


_PART = 1 << 18  # elements whose places and lengths of runs are found at once, where nobody asks for them


def _first_of_runs(flat):
    """The elements of a vector that differ from the one before. Each part begins with the last element of the one before it,
    whose run is there already."""
    found = []
    for begin in range(0, flat.shape[0], _PART):
        found.append(_C.ops.unique_consecutive(flat[max(begin - 1, 0) : begin + _PART], None)[0][begin > 0 :])
    return _C.ops.concat(found, 0)


__getattr__ = _borrow(__name__, "proa")
