"""Tensors of few dims side by side, tensors as parts, and their memory as other tensors: names of releases after 2.3."""

import itertools
import math

from proa import _C
from proa.framework.attributes import ints, is_late, known, known_int, known_ints, numbers
from proa.framework.requirements import require_multiple, require_sizes
from proa.tensor.attribute import tensor_list
from proa.tensor.manipulation import known_axis_of
from proa.tensor.method import method as _method
from proa.tensor.placing import of_one_dim

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "cartesian_prod",
    "column_stack",
    "combinations",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "row_stack",
    "tensor_split",
    "unflatten",
    "view",
    "view_as",
    "vsplit",
    "vstack",
]

_END = 2**63 - 1
# Parts, and elements of a combination, that may be asked for.
_MOST_PARTS = 1 << 20
# Elements of all combinations: their places pass through Python.
_MOST_CHOSEN = 1 << 26


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


def cartesian_prod(x, name=None):
    """All rows of one element of each of some tensors [N], the last one changing first; of one tensor itself.

    Examples:
        >>> proa.cartesian_prod([proa.to_tensor([1, 2]), proa.to_tensor([3, 4])]).tolist()
        [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    parts = [of_one_dim("cartesian_prod", "each tensor", t) for t in tensor_list(x, "cartesian_prod", "x")]
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
    x = of_one_dim("combinations", "x", _C.tensor_argument(x, "combinations", "x"))
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
    among = size + r - 1 if with_replacement else size
    few = min(r, among - r)
    if few > _MOST_CHOSEN.bit_length() or math.comb(among, few) * r > _MOST_CHOSEN:
        raise _C.located(
            ValueError(f"combinations: those of {r} of {size} elements are more than {_MOST_CHOSEN} numbers")
        )
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
def view(x, shape_or_dtype, name=None):
    """The same elements under another shape, or the same bytes as elements of another dtype; never a copy.

    Args:
        shape_or_dtype (list[int]|tuple[int]|dtype|str): the shape; a size of -1 is what is left. Or the dtype: where
            its elements are of another size the last dim is that much longer or shorter. `cast` converts elements.
        name (str, optional): not used.

    Raises:
        ValueError: x does not lie so in memory that this is possible; `reshape` copies then. Or the last dim is no
            whole number of elements of the dtype.

    Examples:
        >>> x = proa.zeros([2, 3])
        >>> x.view([3, 2])[0] = 1.0
        >>> x.tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
        >>> proa.to_tensor([1.0, -2.0]).view("int32").tolist()
        [1065353216, -1073741824]
    """
    x = _C.tensor_argument(x, "view", "x")
    if isinstance(shape_or_dtype, (str, _C.DType)):
        return _C.ops.view_dtype(x, shape_or_dtype)
    out = _C.ops.reshape(x, ints("view", "shape_or_dtype", shape_or_dtype))
    if _C.take_elements(x) and x.size > 0 and not out._is_shared_buffer_with(x):
        what = f"x is {list(x.shape)} with strides {list(x.strides)}"
        raise _C.located(ValueError(f"view: {list(out.shape)} is no view of how the elements lie; {what}. Use reshape"))
    return out


@_method
def view_as(x, other, name=None):
    """view with the shape of another tensor.

    Examples:
        >>> proa.view_as(proa.arange(6), proa.zeros([3, 2])).shape
        [3, 2]
    """
    other = _C.tensor_argument(other, "view_as", "other")
    return view(x, other.shape)
