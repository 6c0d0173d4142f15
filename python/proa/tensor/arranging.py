"""Tensors of few dims side by side, parts of tensors, and parts put back: names of releases after 2.3."""

import itertools
import numbers as numbers_abc

from proa import _C
from proa.framework.attributes import is_late, known, known_int, known_ints, numbers, real, word, wrong
from proa.framework.requirements import require, require_multiple, require_sizes
from proa.tensor.attribute import tensor_list
from proa.tensor.manipulation import known_axis_of
from proa.tensor.method import method as _method

__all__ = [
    "as_strided",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "cartesian_prod",
    "column_stack",
    "combinations",
    "diagonal_scatter",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "index_add",
    "index_add_",
    "index_fill",
    "index_fill_",
    "index_put",
    "index_put_",
    "masked_scatter",
    "masked_scatter_",
    "row_stack",
    "select_scatter",
    "slice_scatter",
    "take",
    "tensor_split",
    "unflatten",
    "unfold",
    "vsplit",
    "vstack",
]

_END = 2**63 - 1
# Parts, and elements of a combination, that may be asked for.
_MOST_PARTS = 1 << 20


def _with_dims(x, least):
    rank = len(x.shape)
    if rank >= least:
        return x
    if least < 3:
        return _C.ops.unsqueeze(x, [0] * (least - rank)) if rank or least == 1 else _C.ops.reshape(x, [1, 1])
    return {
        0: lambda: _C.ops.reshape(x, [1, 1, 1]),
        1: lambda: _C.ops.unsqueeze(x, [0, 2]),
        2: lambda: _C.ops.unsqueeze(x, [2]),
    }[rank]()


def _each_with_dims(op, inputs, least):
    found = [_with_dims(_C.tensor_argument(x, op, f"inputs[{i}]"), least) for i, x in enumerate(inputs)]
    return found[0] if len(found) == 1 else found


@_method
def atleast_1d(*inputs, name=None):
    """Tensors with one dim at least: 0-d ones become [1].

    Returns:
        Tensor|list[Tensor]: a list of other than one input.

    Examples:
        >>> proa.atleast_1d(proa.to_tensor(3.0)).shape
        [1]
    """
    return _each_with_dims("atleast_1d", inputs, 1)


@_method
def atleast_2d(*inputs, name=None):
    """Tensors with two dims at least: [N] becomes [1, N].

    Returns:
        Tensor|list[Tensor]: a list of other than one input.

    Examples:
        >>> [x.shape for x in proa.atleast_2d(proa.ones([3]), proa.ones([2, 2]))]
        [[1, 3], [2, 2]]
    """
    return _each_with_dims("atleast_2d", inputs, 2)


@_method
def atleast_3d(*inputs, name=None):
    """Tensors with three dims at least: [N] becomes [1, N, 1], and [M, N] becomes [M, N, 1].

    Returns:
        Tensor|list[Tensor]: a list of other than one input.

    Examples:
        >>> proa.atleast_3d(proa.ones([3])).shape
        [1, 3, 1]
    """
    return _each_with_dims("atleast_3d", inputs, 3)


def _joined(op, x, least, axis):
    parts = [_with_dims(t, least) for t in tensor_list(x, op, "x")]
    if not parts:
        raise _C.located(ValueError(f"{op}: at least one tensor is needed"))
    return _C.ops.concat(parts, 0 if least == 1 and len(parts[0].shape) == 1 else axis)


def hstack(x, name=None):
    """Tensors one beside the other: along axis 1, of one dim along axis 0.

    Examples:
        >>> proa.hstack([proa.to_tensor([1, 2]), proa.to_tensor([3])]).tolist()
        [1, 2, 3]
    """
    return _joined("hstack", x, 1, 1)


def vstack(x, name=None):
    """Tensors one below the other: along axis 0, where [N] is a row.

    Examples:
        >>> proa.vstack([proa.to_tensor([1, 2]), proa.to_tensor([3, 4])]).tolist()
        [[1, 2], [3, 4]]
    """
    return _joined("vstack", x, 2, 0)


def row_stack(x, name=None):
    """vstack by its other name.

    Examples:
        >>> proa.row_stack([proa.ones([2]), proa.zeros([1, 2])]).shape
        [2, 2]
    """
    return _joined("row_stack", x, 2, 0)


def dstack(x, name=None):
    """Tensors one behind the other: along axis 2, as `atleast_3d` makes them.

    Examples:
        >>> proa.dstack([proa.ones([2]), proa.zeros([2])]).tolist()
        [[[1.0, 0.0], [1.0, 0.0]]]
    """
    return _joined("dstack", x, 3, 2)


def column_stack(x, name=None):
    """Tensors one beside the other, where [N] is a column.

    Examples:
        >>> proa.column_stack([proa.to_tensor([1, 2]), proa.to_tensor([3, 4])]).tolist()
        [[1, 3], [2, 4]]
    """
    parts = tensor_list(x, "column_stack", "x")
    return _joined("column_stack", [_C.ops.reshape(t, [-1, 1]) if len(t.shape) < 2 else t for t in parts], 2, 1)


def block_diag(inputs, name=None):
    """A matrix with matrices on its diagonal, one after the other, and zeros elsewhere; [N] is a row.

    Examples:
        >>> proa.block_diag([proa.to_tensor([[1, 2]]), proa.to_tensor(3)]).tolist()
        [[1, 2, 0], [0, 0, 3]]
    """
    parts = [_with_dims(t, 2) for t in tensor_list(inputs, "block_diag", "inputs")]
    if not parts:
        raise _C.located(ValueError("block_diag: at least one tensor is needed"))
    for t in parts:
        if len(t.shape) != 2:
            raise _C.located(ValueError(f"block_diag: two dims at most are taken; one is {list(t.shape)}"))
        if is_late(*t.shape):
            raise _C.located(ValueError(f"block_diag: sizes must be known; one is {list(t.shape)}"))
    width, left, rows = sum(t.shape[1] for t in parts), 0, []
    for t in parts:
        rows.append(_C.ops.pad(t, [0, 0, left, width - left - t.shape[1]], "constant", 0))
        left += t.shape[1]
    return _C.ops.concat(rows, 0)


def _of_one_dim(op, name, x):
    if len(x.shape) != 1:
        raise _C.located(ValueError(f"{op}: {name} must have one dim; it is {list(x.shape)}"))
    return x


def cartesian_prod(x, name=None):
    """All rows of one element of each of some tensors [N], the last one changing first; of one tensor itself.

    Examples:
        >>> proa.cartesian_prod([proa.to_tensor([1, 2]), proa.to_tensor([3, 4])]).tolist()
        [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    parts = [_of_one_dim("cartesian_prod", "each tensor", t) for t in tensor_list(x, "cartesian_prod", "x")]
    if not parts:
        raise _C.located(ValueError("cartesian_prod: at least one tensor is needed"))
    if len(parts) == 1:
        return _C.ops.assign(parts[0])
    n = len(parts)
    sizes = [t.shape[0] for t in parts]
    grids = [
        _C.ops.broadcast_to(_C.ops.reshape(t, [-1 if i == k else 1 for i in range(n)]), sizes)
        for k, t in enumerate(parts)
    ]
    return _C.ops.reshape(_C.ops.stack(grids, n), [-1, n] if 0 not in sizes else [0, n])


@_method
def combinations(x, r=2, with_replacement=False, name=None):
    """The combinations of r elements of x [N], in order, as rows [M, r].

    Args:
        x (Tensor): [N]; the size must be known.
        r (int): elements of each.
        with_replacement (bool): whether an element may be in one several times.

    Examples:
        >>> proa.combinations(proa.to_tensor([1, 2, 3])).tolist()
        [[1, 2], [1, 3], [2, 3]]
    """
    x = _of_one_dim("combinations", "x", _C.tensor_argument(x, "combinations", "x"))
    r = known_int("combinations", "r", r)
    if r < 0:
        raise _C.located(ValueError(f"combinations: r must not be negative; it is {r}"))
    if is_late(x.shape[0]):
        raise _C.located(ValueError("combinations: the size of x must be known"))
    if r == 0:
        return _C.ops.full([0], 0, x.dtype)
    size = x.shape[0]
    if r > _MOST_PARTS and with_replacement:
        raise _C.located(ValueError(f"combinations: r must be at most {_MOST_PARTS}; it is {r}"))
    if r > size and (size == 0 or not with_replacement):
        return _C.ops.full([0, r], 0, x.dtype)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(size), r))
    index = _C.to_tensor([i for row in rows for i in row], dtype="int64")
    return _C.ops.reshape(_C.ops.gather(x, index, 0), [len(rows), r])


def _parts(op, x, num_or_indices, axis):
    cuts = known(op, "num_or_indices", num_or_indices)
    if isinstance(cuts, (list, tuple)):
        cuts = known_ints(op, "num_or_indices", cuts)
        bounds = zip([0, *cuts], [*cuts, _END])
        return [_C.ops.slice(x, [axis], [a], [b]) for a, b in bounds]
    parts = known_int(op, "num_or_indices", num_or_indices)
    if not 1 <= parts <= _MOST_PARTS:
        raise _C.located(ValueError(f"{op}: num_or_indices must be from 1 to {_MOST_PARTS}; it is {parts}"))
    size = x.shape[axis]
    if is_late(size):
        raise _C.located(ValueError(f"{op}: dim {axis} must be known; x is {list(x.shape)}"))
    each, more = divmod(size, parts)
    return _C.ops.split(x, [each + 1] * more + [each] * (parts - more), axis)


@_method
def tensor_split(x, num_or_indices, axis=0, name=None):
    """The parts of x along an axis, as views; the sizes need not be equal.

    Args:
        x (Tensor): one dim or more.
        num_or_indices (int|list[int]): how many parts, the first ones longer by one where that does not divide; or
            where parts end and the next ones begin, as in Python's slices.
        axis (int): along which.

    Returns:
        list[Tensor]: the parts.

    Examples:
        >>> [t.tolist() for t in proa.tensor_split(proa.arange(5), 2)]
        [[0, 1, 2], [3, 4]]
        >>> [t.tolist() for t in proa.tensor_split(proa.arange(5), [1, 3])]
        [[0], [1, 2], [3, 4]]
    """
    x = _C.tensor_argument(x, "tensor_split", "x")
    return _parts("tensor_split", x, num_or_indices, known_axis_of("tensor_split", axis, x))


def _split_of(op, x, num_or_indices, least, axis):
    x = _C.tensor_argument(x, op, "x")
    if len(x.shape) < least:
        raise _C.located(ValueError(f"{op}: x must have {least} dims or more; it is {list(x.shape)}"))
    return _parts(op, x, num_or_indices, axis if len(x.shape) > axis else 0)


@_method
def hsplit(x, num_or_indices, name=None):
    """tensor_split along axis 1; of one dim along axis 0.

    Examples:
        >>> [t.shape for t in proa.hsplit(proa.ones([2, 5]), [2])]
        [[2, 2], [2, 3]]
    """
    return _split_of("hsplit", x, num_or_indices, 1, 1)


@_method
def vsplit(x, num_or_indices, name=None):
    """tensor_split along axis 0 of two dims or more.

    Examples:
        >>> [t.shape for t in proa.vsplit(proa.ones([4, 2]), 2)]
        [[2, 2], [2, 2]]
    """
    return _split_of("vsplit", x, num_or_indices, 2, 0)


@_method
def dsplit(x, num_or_indices, name=None):
    """tensor_split along axis 2.

    Examples:
        >>> [t.shape for t in proa.dsplit(proa.ones([1, 2, 4]), 2)]
        [[1, 2, 2], [1, 2, 2]]
    """
    return _split_of("dsplit", x, num_or_indices, 3, 2)


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
def unflatten(x, axis, shape, name=None):
    """x with a dim as several; one of their sizes may be -1.

    Examples:
        >>> proa.ones([2, 6, 3]).unflatten(1, [2, -1]).shape
        [2, 2, 3, 3]
    """
    x = _C.tensor_argument(x, "unflatten", "x")
    axis = known_axis_of("unflatten", axis, x)
    sizes = numbers(shape)
    if isinstance(sizes, _C.Tensor):
        sizes = list(_C.ops.unbind(sizes, 0))
    sizes = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
    if not sizes:
        raise _C.located(ValueError("unflatten: shape must have a size"))
    before, after = list(x.shape[:axis]), list(x.shape[axis + 1 :])
    if all(type(n) is int for n in sizes):
        x, sizes = _fitting(x, axis, sizes)
    return _C.ops.reshape(x, [*before, *sizes, *after])


def _fitting(x, axis, sizes):
    """x, where the sizes make up its dim, and the sizes without -1."""
    says = f"unflatten: {sizes} do not make up dim {axis} of x, which is {{}}"
    product, size = 1, x.shape[axis]
    for n in sizes:
        product *= n if n != -1 else 1
    if sizes.count(-1) > 1 or min(sizes) < -1 or (product == 0 and -1 in sizes):
        raise _C.located(ValueError(says.format(list(x.shape))))
    if -1 not in sizes:
        return require_sizes(x, [size], [product], says, x), sizes
    x = require_multiple(x, size, product, says, x)
    sizes[sizes.index(-1)] = size // product
    return x, sizes


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
    index = _of_one_dim(op, "index", _integers(op, "index", index))
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
