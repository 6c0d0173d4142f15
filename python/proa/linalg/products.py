"""Products of several matrices."""

from proa import _C
from proa.framework.attributes import known_number as _known_number
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require_sizes as _require_sizes
from proa.tensor.attribute import tensor_list as _tensor_list

__all__ = ["matrix_power", "multi_dot"]

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
    tensors = _tensor_list(x, "multi_dot", "x")
    if len(tensors) < 2:
        raise _C.located(ValueError(f"multi_dot: at least two tensors are needed, not {len(tensors)}"))
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if first:
        tensors[0] = _C.ops.unsqueeze(tensors[0], 0)
    if last:
        tensors[-1] = _C.ops.unsqueeze(tensors[-1], 1)
    shapes = [m.shape for m in tensors]
    for i, m in enumerate(tensors):
        if len(shapes[i]) != 2:
            raise _C.located(
                ValueError(f"multi_dot: tensor {i} must be a matrix; it is {list(m.shape)} {m.dtype.name}")
            )
    sizes = [shapes[0][0], *(shape[1] for shape in shapes)]
    order = _best_order([n if isinstance(n, int) else _TYPICAL for n in sizes])

    out = _product(tensors, order, 0, len(tensors) - 1)
    if first:
        out = _C.ops.squeeze(out, 0)
    return _C.ops.squeeze(out, -1) if last else out


def _product(tensors, order, i, j):
    if i == j:
        return tensors[i]
    k = order[i, j]
    return _C.ops.matmul(_product(tensors, order, i, k), _product(tensors, order, k + 1, j))


# More matrices than this are taken in halves: the best order of n of them takes n^3 steps to find.
_MOST_ORDERED = 128


def _best_order(sizes):
    """Where to split each range of matrices (matrix i is sizes[i] x sizes[i + 1]): dynamic programming.

    A long range is split where its inner size is least among those of its middle half; what is left of it is split best.
    """
    n = len(sizes) - 1
    if n <= 3:  # the usual case, which is to cost no more than the products of small matrices
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
