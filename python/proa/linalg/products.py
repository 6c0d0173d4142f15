"""Products of several matrices."""

import functools as _functools

from proa import _C
from proa.framework.attributes import known_int as _known_int
from proa.framework.attributes import known_number as _known_number
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require_sizes as _require_sizes
from proa.tensor.attribute import tensor_list as _tensor_list
from proa.tensor.precision import keeps_types

__all__ = ["matrix_power", "matrix_transpose", "multi_dot", "vecdot"]

_TYPICAL = 64  # what a size that is known only when the program runs counts as, where an order is chosen


def multi_dot(x, name=None):
    """The product of several matrices, in the order that takes the fewest multiplications.

    Args:
        x (list[Tensor]): two or more; the first and the last may be vectors.

    Examples:
        >>> a, b, c = proa.ones([2, 3]), proa.ones([3, 4]), proa.ones([4, 1])
        >>> proa.linalg.multi_dot([a, b, c]).tolist()
        [[12.0], [12.0]]
    """
    # Products of small matrices take less time than what is looked up here.
    tensors = list(x) if type(x) in (list, tuple) else []
    for m in tensors or (None,):
        if type(m) is not _C.Tensor:
            tensors = _tensor_list(x, "multi_dot", "x")
            break
    if len(tensors) < 2:
        raise _C.located(ValueError(f"multi_dot: at least two tensors are needed, not {len(tensors)}"))
    shapes = [m.shape for m in tensors]
    first, last = len(shapes[0]) == 1, len(shapes[-1]) == 1
    if first:
        tensors[0] = _C.ops.unsqueeze(tensors[0], 0)
        shapes[0] = tensors[0].shape
    if last:
        tensors[-1] = _C.ops.unsqueeze(tensors[-1], 1)
        shapes[-1] = tensors[-1].shape
    sizes = []
    for shape in shapes:
        if len(shape) != 2:
            m, i = next((m, i) for i, m in enumerate(tensors) if len(m.shape) != 2)
            raise _C.located(
                ValueError(f"multi_dot: tensor {i} must be a matrix; it is {list(m.shape)} {m.dtype.name}")
            )
        n = shape[0]
        sizes.append(n if type(n) is int else _TYPICAL)
    n = shape[1]
    sizes.append(n if type(n) is int else _TYPICAL)
    out = _product(tensors, _order_of(tuple(sizes)))
    if first:
        out = _C.ops.squeeze(out, 0)
    return _C.ops.squeeze(out, -1) if last else out


def _product(tensors, order):
    a, b = order
    a = tensors[a] if type(a) is int else _product(tensors, a)
    b = tensors[b] if type(b) is int else _product(tensors, b)
    return _C.ops.matmul(a, b)


@_functools.lru_cache(maxsize=256)
def _order_of(sizes):
    """Which matrices, or products of them, are multiplied: pairs of numbers and pairs."""
    split = _best_order(sizes)

    def order(i, j):
        if i == j:
            return i
        k = split[i, j]
        return order(i, k), order(k + 1, j)

    return order(0, len(sizes) - 2)


# More matrices than this are taken in halves: the best order of n of them takes n^3 steps to find.
_MOST_ORDERED = 128


def _best_order(sizes):
    """Where to split each range of matrices (matrix i is sizes[i] x sizes[i + 1]): dynamic programming.

    A long range is split where its inner size is least among those of its middle half; what is left of it is split best.
    """
    n = len(sizes) - 1
    if n <= 3:  # the usual case
        a, b, c, d = sizes if n == 3 else (*sizes, 0)
        last = n == 3 and a * b * c + a * c * d < b * c * d + a * b * d
        return {(0, 1): 0, (1, 2): 1, (0, n - 1): int(last)}
    if n > _MOST_ORDERED:
        quarter = n // 4
        k = min(range(quarter, n - quarter), key=lambda k: sizes[k + 1])
        split = _best_order(sizes[: k + 2])
        split.update({(i + k + 1, j + k + 1): s + k + 1 for (i, j), s in _best_order(sizes[k + 1 :]).items()})
        split[0, n - 1] = k
        return split
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            split[i, j] = min(
                range(i, j), key=lambda k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
            )
            k = split[i, j]
            cost[i, j] = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
    return split


def vecdot(x, y, axis=-1, name=None):
    """The products of vectors along an axis, with broadcasting; of complex ones x is conjugated.

    Examples:
        >>> proa.linalg.vecdot(proa.to_tensor([[1.0, 2.0], [0.0, 1.0]]), proa.to_tensor([3.0, 4.0])).tolist()
        [11.0, 4.0]
    """
    x, y = _C.tensor_argument(x, "vecdot", "x"), _C.tensor_argument(y, "vecdot", "y")
    rank = max(len(x.shape), len(y.shape))
    axis = _known_int("vecdot", "axis", axis)
    if not -rank <= axis < rank:
        what = f"x is {list(x.shape)}, y is {list(y.shape)}"
        raise _C.located(IndexError(f"vecdot: axis {axis} is out of range; {what}"))
    return _C.ops.sum((_C.ops.conj(x) if x.is_complex() else x) * y, [axis])


def matrix_transpose(x, name=None):
    """x with its last two dims exchanged, as a view.

    Examples:
        >>> proa.linalg.matrix_transpose(proa.ones([2, 3, 4])).shape
        [2, 4, 3]
    """
    x = _C.tensor_argument(x, "matrix_transpose", "x")
    rank = len(x.shape)
    if rank < 2:
        raise _C.located(ValueError(f"matrix_transpose: x must be matrices [..., M, N]; it is {list(x.shape)}"))
    return _C.ops.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


@keeps_types
def matrix_power(x, n, name=None):
    """x @ x @ ... (n times), by squaring.

    Args:
        x (Tensor): [..., N, N].
        n (int): 0 gives identity matrices, a negative one powers of the inverse.

    Examples:
        >>> proa.linalg.matrix_power(proa.to_tensor([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
        [[1.0, 3.0], [0.0, 1.0]]
    """
    x = _C.tensor_argument(x, "matrix_power", "x")
    n = _known_number("matrix_power", "n", n)
    if not isinstance(n, int):
        raise _C.located(TypeError(f"matrix_power: n must be an int, not {type(n).__name__}"))
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise _C.located(ValueError(f"matrix_power: x must be [..., N, N]; it is {list(x.shape)} {x.dtype.name}"))
    says = f"matrix_power: x must be [..., N, N]; it is {{}} {x.dtype.name}"
    x = _require_sizes(x, x.shape[-1:], x.shape[-2:-1], says, x)
    if n < 0:
        x, n = _C.ops.inverse(x), -n
    out = None
    while n:
        if n & 1:
            out = x if out is None else _C.ops.matmul(out, x)
        n >>= 1
        if n:
            x = _C.ops.matmul(x, x)
    if out is None:
        return _C.ops.broadcast_to(_C.ops.eye(x.shape[-1], None, x.dtype), x.shape)
    return out


__getattr__ = _borrow(__name__, "proa")
