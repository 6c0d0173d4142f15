"""Parts of tensors by their places, and parts put back: names of releases after 2.3."""

import numbers as numbers_abc

from proa import _C
from proa.framework.attributes import is_late, known_int, known_ints, real, word, wrong
from proa.framework.requirements import require, require_sizes
from proa.tensor.attribute import tensor_list
from proa.tensor.manipulation import known_axis_of
from proa.tensor.method import method as _method

__all__ = [
    "as_strided",
    "diagonal_scatter",
    "index_add",
    "index_add_",
    "index_fill",
    "index_fill_",
    "index_put",
    "index_put_",
    "masked_scatter",
    "masked_scatter_",
    "select_scatter",
    "slice_scatter",
    "take",
    "unfold",
]


def of_one_dim(op, name, x):
    """x, which must have one dim; `op` is who asks, `name` that of the argument."""
    if len(x.shape) != 1:
        raise _C.located(ValueError(f"{op}: {name} must have one dim; it is {list(x.shape)}"))
    return x


@_method
def as_strided(x, shape, stride, offset=0, name=None):
    """The tensor whose element at index i is number offset + sum(i[k] * stride[k]) of x in row-major order.

    Args:
        x (Tensor): of any shape; the result is a view of it if it is contiguous.
        shape (list[int]): of the result.
        stride (list[int]): how far neighbours along each dim are apart; 0 and negative ones are possible.
        offset (int): number of the first element.

    Examples:
        >>> proa.as_strided(proa.arange(5), [3, 3], [1, 1]).tolist()
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    """
    x = _C.tensor_argument(x, "as_strided", "x")
    shape, stride = known_ints("as_strided", "shape", shape), known_ints("as_strided", "stride", stride)
    return _C.ops.as_strided(x, shape, stride, known_int("as_strided", "offset", offset))


@_method
def unfold(x, axis, size, step, name=None):
    """Windows of an axis: where it was stands which of them, and a last dim has their elements.

    Args:
        x (Tensor): one dim or more, of known sizes; the result is a view of it if it is contiguous.
        axis (int): along which.
        size (int): of a window.
        step (int): how far windows are apart.

    Examples:
        >>> proa.unfold(proa.arange(7), 0, 3, 2).tolist()
        [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    """
    x = _C.tensor_argument(x, "unfold", "x")
    axis = known_axis_of("unfold", axis, x)
    size, step = known_int("unfold", "size", size), known_int("unfold", "step", step)
    if is_late(*x.shape[1:]) or (axis == 0 and is_late(x.shape[0])):
        raise _C.located(ValueError(f"unfold: sizes must be known; x is {list(x.shape)}"))
    if not 0 <= size <= x.shape[axis]:
        raise _C.located(
            ValueError(f"unfold: size must be from 0 to that of dim {axis}; it is {size}, x is {list(x.shape)}")
        )
    if step < 1:
        raise _C.located(ValueError(f"unfold: step must be positive; it is {step}"))
    strides = [1]
    for n in reversed(x.shape[1:]):
        strides.insert(0, strides[0] * n)
    shape = [*x.shape, size]
    shape[axis] = (x.shape[axis] - size) // step + 1
    strides.append(strides[axis])
    strides[axis] *= step
    return _C.ops.as_strided(x, shape, strides)


@_method
def take(x, index, mode="raise", name=None):
    """Elements of x, by their places in row-major order.

    Args:
        x (Tensor): of any shape.
        index (Tensor): integers, of any shape; negative ones count from the end.
        mode (str): what places outside of x are: "raise": an error; "wrap": they go round; "clip": the nearest one (0
            for negative ones).

    Returns:
        Tensor: of the shape of index.

    Examples:
        >>> x = proa.to_tensor([[1, 2], [3, 4]])
        >>> proa.take(x, proa.to_tensor([[0], [-1]])).tolist(), x.take(proa.to_tensor([5, -6]), mode="wrap").tolist()
        ([[1], [4]], [2, 3])
    """
    x = _C.tensor_argument(x, "take", "x")
    index = _integers("take", "index", index)
    word("take", "mode", mode, ("raise", "wrap", "clip"))
    flat = _C.ops.reshape(x, [-1]) if len(x.shape) != 1 else x
    at = index.astype("int64")
    size = _C.ops.numel(flat).astype("int64")
    if mode == "clip":
        at = _C.ops.minimum(_C.ops.maximum(at, _C.ops.full_like(at, 0)), size - 1)
    elif mode == "wrap":
        at = _C.ops.remainder(at, _C.ops.maximum(size, _C.ops.full_like(size, 1)))
    return _C.ops.index_get(flat, [at], [0])


def _integers(op, name, value):
    x = _C.tensor_argument(value, op, name)
    if x.dtype not in (_C.int32, _C.int64):
        raise _C.located(TypeError(f"{op}: {name} must be int32 or int64; it is {list(x.shape)} {x.dtype.name}"))
    return x


def _rows_at(op, x, index, axis):
    x = _C.tensor_argument(x, op, "x")
    index = of_one_dim(op, "index", _integers(op, "index", index))
    return x, index, known_axis_of(op, axis, x)


@_method
def index_add(x, index, axis, value, alpha=1, name=None):
    """x with slices along an axis added at places that an index names; those of one place add up.

    Args:
        x (Tensor): one dim or more.
        index (Tensor): places, [K]; negative ones count from the end.
        axis (int): along which.
        value (Tensor): of the shape of x, but K along the axis.
        alpha (float): what value is multiplied by.

    Examples:
        >>> x, value = proa.zeros([3, 2]), proa.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> proa.index_add(x, proa.to_tensor([0, 0]), 0, value).tolist()
        [[4.0, 6.0], [0.0, 0.0], [0.0, 0.0]]
    """
    x, index, axis = _rows_at("index_add", x, index, axis)
    value = _C.tensor_argument(value, "index_add", "value")
    alpha = real("index_add", "alpha", alpha)
    if is_late(alpha) or alpha != 1:
        value = value * alpha
    return _C.ops.index_put(x, [index], value, [axis], axis, True)


@_method
def index_add_(x, index, axis, value, alpha=1, name=None):
    """index_add in place.

    Examples:
        >>> proa.zeros([2]).index_add_(proa.to_tensor([1]), 0, proa.to_tensor([3.0])).tolist()
        [0.0, 3.0]
    """
    x = _C.tensor_argument(x, "index_add_", "x")
    x[...] = index_add(x, index, axis, value, alpha)
    return x


@_method
def index_fill(x, index, axis, value, name=None):
    """x with one number in the slices along an axis that an index names.

    Args:
        x (Tensor): one dim or more.
        index (Tensor): places, [K]; negative ones count from the end.
        axis (int): along which.
        value (float|Tensor): the number.

    Examples:
        >>> proa.index_fill(proa.zeros([3, 2]), proa.to_tensor([0, -1]), 0, 5.0).tolist()
        [[5.0, 5.0], [0.0, 0.0], [5.0, 5.0]]
    """
    x, index, axis = _rows_at("index_fill", x, index, axis)
    if isinstance(value, _C.Tensor):
        if any(is_late(n) or n != 1 for n in value.shape):
            raise _C.located(ValueError(f"index_fill: value must be one number; it is {list(value.shape)}"))
        value = _C.ops.reshape(value, []).astype(x.dtype)
    elif isinstance(value, numbers_abc.Number):
        value = _C.ops.full([], value, x.dtype)
    else:
        raise wrong("index_fill", "value", "a number", value)
    return _C.ops.index_put(x, [index], value, [axis], axis)


@_method
def index_fill_(x, index, axis, value, name=None):
    """index_fill in place.

    Examples:
        >>> proa.zeros([2]).index_fill_(proa.to_tensor([1]), 0, 3.0).tolist()
        [0.0, 3.0]
    """
    x = _C.tensor_argument(x, "index_fill_", "x")
    x[...] = index_fill(x, index, axis, value)
    return x


@_method
def index_put(x, indices, value, accumulate=False, name=None):
    """x with elements replaced at places that tensors of integers, or one of bool, name; or added to.

    Args:
        x (Tensor): one dim or more.
        indices (tuple[Tensor]): for the first dims of x one each, of shapes that broadcast; negative places count from
            the end. A tensor of bool, of as many dims as it stands for, names the places where it is true.
        value (Tensor): broadcast to the places and the dims behind them.
        accumulate (bool): whether value is added; those of one place add up.

    Examples:
        >>> at = (proa.to_tensor([0, 1]), proa.to_tensor([1, 1]))
        >>> proa.index_put(proa.zeros([2, 2]), at, proa.to_tensor([1.0, 2.0])).tolist()
        [[0.0, 1.0], [0.0, 2.0]]
    """
    x = _C.tensor_argument(x, "index_put", "x")
    value = _C.tensor_argument(value, "index_put", "value")
    at = []
    for t in tensor_list(indices, "index_put", "indices"):
        if t.dtype == _C.bool:
            first, rank = len(at), len(t.shape)
            if rank == 0 or first + rank > len(x.shape):
                what = f"{list(t.shape)} does not fit dims {first} on of x, which is {list(x.shape)}"
                raise _C.located(ValueError(f"index_put: an index of bool, {what}"))
            says = f"index_put: an index of bool, {{}}, does not fit dims {first} on of x, which is {{}}"
            t = require_sizes(t, t.shape, x.shape[first : first + rank], says, t, x)
            at += _C.ops.unbind(_C.ops.nonzero(t), 1)
        else:
            at.append(t)
    return _C.ops.index_put(x, at, value, list(range(len(at))), 0, accumulate)


@_method
def index_put_(x, indices, value, accumulate=False, name=None):
    """index_put in place.

    Examples:
        >>> proa.zeros([2]).index_put_((proa.to_tensor([1]),), proa.to_tensor(3.0)).tolist()
        [0.0, 3.0]
    """
    x = _C.tensor_argument(x, "index_put_", "x")
    x[...] = index_put(x, indices, value, accumulate)
    return x


@_method
def masked_scatter(x, mask, value, name=None):
    """x with the elements where mask is true replaced by the first ones of value, in row-major order.

    Args:
        x (Tensor): of any shape.
        mask (Tensor): bool, broadcast to x.
        value (Tensor): of the dtype of x, with as many elements as are replaced at least.

    Examples:
        >>> x, mask = proa.zeros([2, 2]), proa.to_tensor([[True, False], [True, True]])
        >>> proa.masked_scatter(x, mask, proa.to_tensor([1.0, 2.0, 3.0, 4.0])).tolist()
        [[1.0, 0.0], [2.0, 3.0]]
    """
    x = _C.tensor_argument(x, "masked_scatter", "x")
    mask = _C.tensor_argument(mask, "masked_scatter", "mask")
    value = _C.tensor_argument(value, "masked_scatter", "value")
    if mask.dtype != _C.bool:
        raise _C.located(TypeError(f"masked_scatter: mask must be bool; it is {list(mask.shape)} {mask.dtype.name}"))
    if value.dtype != x.dtype:
        what = f"x is {list(x.shape)} {x.dtype.name}, value is {list(value.shape)} {value.dtype.name}"
        raise _C.located(TypeError(f"masked_scatter: value must have the dtype of x; {what}"))
    mask = _C.ops.broadcast_to(mask, x.shape)
    flat = _C.ops.reshape(value, [-1])
    count = _C.ops.cumsum(_C.ops.reshape(mask, [-1]).astype("int64"), 0)
    most = _C.ops.sum(mask.astype("int64"))
    size = _C.ops.numel(flat).astype("int64")
    says = "masked_scatter: {} elements are replaced, but value has {}"
    flat = require(flat, most <= size, says, most, size)
    at = _C.ops.clip(count - 1, 0, None)
    # Where nothing is replaced one more stands for what is not taken.
    flat = _C.ops.concat([flat, _C.ops.full([1], 0, x.dtype)], 0)
    at = _C.ops.minimum(at, size)
    return _C.ops.where(mask, _C.ops.reshape(_C.ops.gather(flat, at, 0), x.shape), x)


@_method
def masked_scatter_(x, mask, value, name=None):
    """masked_scatter in place.

    Examples:
        >>> proa.zeros([2]).masked_scatter_(proa.to_tensor([False, True]), proa.to_tensor([3.0])).tolist()
        [0.0, 3.0]
    """
    x = _C.tensor_argument(x, "masked_scatter_", "x")
    x[...] = masked_scatter(x, mask, value)
    return x


@_method
def select_scatter(x, values, axis, index, name=None):
    """x with one slice along an axis replaced.

    Examples:
        >>> proa.select_scatter(proa.zeros([2, 2]), proa.ones([2]), 0, 1).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    x = _C.tensor_argument(x, "select_scatter", "x")
    values = _C.tensor_argument(values, "select_scatter", "values")
    axis, index = known_axis_of("select_scatter", axis, x), known_int("select_scatter", "index", index)
    if len(values.shape) != len(x.shape) - 1:
        what = f"x is {list(x.shape)}, values are {list(values.shape)}"
        raise _C.located(ValueError(f"select_scatter: values must have one dim less than x; {what}"))
    return _C.ops.index_put(x, [_C.to_tensor(index, dtype="int64")], values, [axis], axis)


@_method
def slice_scatter(x, value, axes, starts, ends, strides, name=None):
    """x with the part that `strided_slice` takes replaced by value, which is broadcast to it.

    Examples:
        >>> proa.slice_scatter(proa.zeros([4]), proa.ones([2]), axes=[0], starts=[0], ends=[4], strides=[2]).tolist()
        [1.0, 0.0, 1.0, 0.0]
    """
    x = _C.tensor_argument(x, "slice_scatter", "x")
    value = _C.tensor_argument(value, "slice_scatter", "value")
    parts = [
        known_ints("slice_scatter", name, given)
        for name, given in (("axes", axes), ("starts", starts), ("ends", ends), ("strides", strides))
    ]
    return _C.ops.slice_set(x, value, *parts)


@_method
def diagonal_scatter(x, y, offset=0, axis1=0, axis2=1, name=None):
    """x with a diagonal replaced by y, which has the shape of `diagonal(x, offset, axis1, axis2)`.

    Examples:
        >>> proa.diagonal_scatter(proa.zeros([2, 2]), proa.ones([2])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    x = _C.tensor_argument(x, "diagonal_scatter", "x")
    y = _C.tensor_argument(y, "diagonal_scatter", "y")
    if y.dtype != x.dtype:
        what = f"x is {list(x.shape)} {x.dtype.name}, y is {list(y.shape)} {y.dtype.name}"
        raise _C.located(TypeError(f"diagonal_scatter: y must have the dtype of x; {what}"))
    offset = known_int("diagonal_scatter", "offset", offset)
    axis1 = known_axis_of("diagonal_scatter", axis1, x, "axis1")
    axis2 = known_axis_of("diagonal_scatter", axis2, x, "axis2")
    return x.fill_diagonal_tensor(y, offset, axis1, axis2)
