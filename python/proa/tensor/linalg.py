"""Norms, distances and products."""

import math

from proa import _C
from proa.framework.attributes import is_late, known, known_ints, known_number, known_real, number, numbers
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require_sizes
from proa.framework.size import is_same
from proa.tensor.elementary import scaled
from proa.tensor.logic import into
from proa.tensor.manipulation import axis_of, known_axis_of
from proa.tensor.method import method as _method

__all__ = [
    "addmm",
    "bmm",
    "cross",
    "dist",
    "dot",
    "inner",
    "mm",
    "norm",
    "t",
    "tensordot",
]


@_method
def mm(input, mat2, out=None, name=None):
    """The product of two matrices (or batches of them); written into `out` if that is given.

    Examples:
        >>> proa.mm(proa.ones([2, 3]), proa.ones([3, 1])).tolist()
        [[3.0], [3.0]]
    """
    input = _C.tensor_argument(input, "mm", "input")
    mat2 = _C.tensor_argument(mat2, "mm", "mat2")
    return into(_C.ops.matmul(input, mat2), out, "mm")


@_method
def bmm(x, y, name=None):
    """The products of matrices in two batches; no broadcasting.

    Args:
        x (Tensor): [B, M, K].
        y (Tensor): [B, K, N].

    Returns:
        Tensor: [B, M, N].

    Raises:
        ValueError: other dims, or sizes that differ.

    Examples:
        >>> proa.bmm(proa.ones([2, 1, 3]), proa.ones([2, 3, 1])).tolist()
        [[[3.0]], [[3.0]]]
    """
    return _C.ops.bmm(x, _of_batch("bmm", x, y, 3))


@_method
def dot(x, y, name=None):
    """The inner product over the last dim.

    Args:
        x, y (Tensor): [N], or a batch [B, N].

    Returns:
        Tensor: 0-d, or [B].

    Raises:
        ValueError: other dims, or sizes that differ.

    Examples:
        >>> proa.dot(proa.to_tensor([1.0, 2.0]), proa.to_tensor([3.0, 4.0])).item()
        11.0
    """
    return _C.ops.dot(x, _of_batch("dot", x, y, 2))


def _of_batch(op, x, y, rank):
    """y, where the batch, which is not broadcast, has as many elements as that of x; of other dims the op says what is wrong."""
    x, y = _C.tensor_argument(x, op, "x"), _C.tensor_argument(y, op, "y")
    if len(x.shape) != rank or len(y.shape) != rank or type(x.shape[0]) is type(y.shape[0]) is int:
        return y
    return require_sizes(y, y.shape[:1], x.shape[:1], f"{op}: the batch sizes differ; x is {{}}, y is {{}}", x, y)


@_method
def t(input, name=None):
    """A matrix transposed; tensors of fewer dims as they are.

    Examples:
        >>> proa.t(proa.ones([2, 3])).shape
        [3, 2]
    """
    input = _C.tensor_argument(input, "t", "input")
    rank = len(input.shape)
    if rank > 2:
        raise _C.located(ValueError(f"t: at most 2 dims are possible; input is {list(input.shape)} {input.dtype.name}"))
    return _C.ops.transpose(input, [1, 0]) if rank == 2 else _C.ops.assign(input)


@_method
def inner(x, y, name=None):
    """Sums of products over the last dims of x and y; of 0-d tensors the product.

    Examples:
        >>> proa.inner(proa.to_tensor([1.0, 2.0]), proa.to_tensor([3.0, 4.0])).item()
        11.0
    """
    x = _C.tensor_argument(x, "inner", "x")
    y = _C.tensor_argument(y, "inner", "y")
    if not x.shape or not y.shape:
        return x * y
    # tensordot repeats a size of 1
    x = require_sizes(x, x.shape[-1:], y.shape[-1:], "inner: the last dims differ; x is {}, y is {}", x, y)
    return tensordot(x, y, [[len(x.shape) - 1], [len(y.shape) - 1]])


@_method
def addmm(input, x, y, beta=1.0, alpha=1.0, name=None):
    """beta * input + alpha * (x y) for matrices.

    Args:
        input (Tensor): broadcasts to [M, N].
        x (Tensor): [M, K].
        y (Tensor): [K, N].
        beta, alpha (float): factors.

    Examples:
        >>> proa.addmm(proa.ones([2, 2]), proa.ones([2, 3]), proa.ones([3, 2])).tolist()
        [[4.0, 4.0], [4.0, 4.0]]
    """
    input = _C.tensor_argument(input, "addmm", "input")
    if input.ndim > 2:
        raise _C.located(
            ValueError(f"addmm: input must have at most 2 dims; it is {list(input.shape)} {input.dtype.name}")
        )
    beta, alpha = number(beta), number(alpha)
    if not is_late(beta, alpha):
        return _C.ops.addmm(input, x, y, beta, alpha)
    # As the op does it: the product is scaled, in the dtype of the result, where integers are cut off after each factor.
    product = _C.ops.addmm(_C.ops.full([1], 0, input.dtype), x, y)
    return scaled(_C.ops.cast(input, product.dtype), beta) + scaled(product, alpha)


def _cross_by_sizes(x, y, axis):
    """The cross product along the first axis of size 3 from `axis` on, whose sizes only the run of the program knows."""
    later = [i for i in range(axis + 1, len(x.shape)) if is_late(x.shape[i]) or x.shape[i] == 3]
    if not is_late(x.shape[axis]) or not later:
        return cross(x, y, axis)
    is_three = _C.ops.equal(_C.ops.shape(x)[axis], 3)
    return _C.cond(is_three, lambda: [cross(x, y, axis)], lambda: [_cross_by_sizes(x, y, later[0])])[0]


@_method
def cross(x, y, axis=None, name=None):
    """The cross product along an axis of size 3; the first such axis unless given.

    Examples:
        >>> proa.cross(proa.to_tensor([1.0, 0.0, 0.0]), proa.to_tensor([0.0, 1.0, 0.0])).tolist()
        [0.0, 0.0, 1.0]
    """
    x = _C.tensor_argument(x, "cross", "x")
    y = _C.tensor_argument(y, "cross", "y")
    if axis is None:
        sizes = list(x.shape)
        axis = next((i for i, size in enumerate(sizes) if is_late(size) or size == 3), None)
        if axis is None:
            raise _C.located(ValueError(f"cross: x has no dim of size 3; it is {sizes} {x.dtype.name}"))
        if is_late(sizes[axis]):
            return _cross_by_sizes(x, y, axis)
    axis = known_axis_of("cross", axis, x)
    sizes = (x.shape[axis], y.shape[axis]) if len(y.shape) == len(x.shape) else ()
    if not sizes or any(not is_late(size) and size != 3 for size in sizes):
        raise _C.located(
            ValueError(f"cross: size 3 is needed at axis {axis}; x is {list(x.shape)}, y is {list(y.shape)}")
        )
    # Not unbind, which must know the size; of another size there is an error when the program runs.
    (x0, x1, x2), (y0, y1, y2) = (
        [_C.ops.squeeze(part, [axis]) for part in _C.ops.split(v, [1, 1, 1], axis)] for v in (x, y)
    )
    return _C.ops.stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0], axis)


@_method
def norm(x, p="fro", axis=None, keepdim=False, name=None):
    """The p-norm of vectors, or a norm of matrices.

    Args:
        x (Tensor): any type; powers are added up in float64. Where a norm is 0 its gradient is 0.
        p (float|str): of vectors: "fro" or 2 (the root of the sum of squares), inf, -inf, 0 (how many are not 0) or a
            number. Of matrices: "fro", "nuc" (the sum of the singular values), or an operator norm: 1 and -1 (the largest
            and the smallest sum of a column), inf and -inf (of a row), 2 and -2 (the largest and the smallest singular value).
        axis (int|list[int], optional): along which; all elements as one vector unless given. Two axes mean matrices,
            rows along the first, as in the later releases of the reference; before 2.6 they were one vector. "nuc" takes
            a tensor of two dims for a matrix.
        keepdim (bool): keep the axes, with size 1.

    Raises:
        ValueError: another p.

    Examples:
        >>> proa.norm(proa.to_tensor([[3.0, 4.0]])).item()
        5.0
    """
    x = _C.tensor_argument(x, "norm", "x")
    p, axis = number(p), numbers(axis)
    axes = [] if axis is None else list(axis) if isinstance(axis, (list, tuple)) else [axis]
    axes = [axis_of("norm", a, x) for a in axes]
    if isinstance(p, str) and p == "nuc" and axis is None and len(x.shape) == 2:
        axes = [0, 1]
    if len(axes) == 2 and p != "fro":  # which norm it is decides what is recorded
        p, axes = known_number("norm", "p", p), known("norm", "axis", axes)
    if len(axes) == 2 and p != "fro" and axes[0] != axes[1] and not isinstance(p, _C.Tensor) and p in ("nuc", 2, -2):
        return _spectral_norm(x, p, axes, keepdim)
    x = x.abs() if x.is_complex() else x
    if p == "fro":
        return _C.ops.p_norm(x, 2.0, axes, keepdim)
    if is_late(p):
        return _C.ops.p_norm(x, p, axes, keepdim)
    if isinstance(p, (str, bool)) or not isinstance(p, (int, float)):
        raise _C.located(
            ValueError(f'norm: p must be "fro", a number, inf or -inf, or "nuc" with two axes, not {p!r} with {axis!r}')
        )
    if len(axes) == 2:
        return _matrix_norm(x, p, axes, keepdim)
    return _C.ops.p_norm(x, float(p), axes, keepdim)


def _matrix_norm(x, p, axes, keepdim):
    if p not in (1, -1, math.inf, -math.inf):
        raise _C.located(
            ValueError(f'norm: of matrices (two axes) p must be "fro", "nuc", 1, -1, 2, -2, inf or -inf, not {p!r}')
        )
    summed, compared = axes if p in (1, -1) else axes[::-1]
    sums = _C.ops.p_norm(x, 1.0, [summed], True)
    out = (_C.ops.max if p > 0 else _C.ops.min)(sums, [compared], True)
    return out if keepdim else _C.ops.squeeze(out, axes)


def _spectral_norm(x, p, axes, keepdim):
    """A norm by singular values, of the matrices along two axes."""
    if not x.is_complex() and x.dtype not in (_C.float32, _C.float64):
        narrow = x.dtype if x.is_floating_point() else _C.get_default_dtype()
        return _C.ops.cast(_spectral_norm(_C.ops.cast(x, _C.float32), p, axes, keepdim), narrow)
    others = [a for a in range(len(x.shape)) if a not in axes]
    values = _C.ops.svdvals(_C.ops.transpose(x, [*others, *axes]))
    if p == "nuc":
        out = _C.ops.sum(values, [-1])
    else:
        out = _C.ops.max(values, [-1]) if p == 2 else _C.ops.min(values, [-1])
    return _C.ops.unsqueeze(out, sorted(axes)) if keepdim else out


@_method
def dist(x, y, p=2):
    """The p-norm of x - y, with broadcasting.

    Examples:
        >>> proa.dist(proa.to_tensor([3.0, 4.0]), proa.zeros([2])).item()
        5.0
    """
    x = _C.tensor_argument(x, "dist", "x")
    y = _C.tensor_argument(y, "dist", "y")
    p = number(p)
    return norm(x - y, p if is_late(p) else float(known_real("dist", "p", p)))


@_method
def tensordot(x, y, axes=2, name=None):
    """Sums of products over several dims.

    Args:
        x, y (Tensor): any shapes that agree in the summed dims; a size of 1 is repeated.
        axes (int|list|Tensor): the last `axes` dims of x with the first of y; or the dims of both;
            or a list of those of x and one of those of y.

    Examples:
        >>> proa.tensordot(proa.ones([2, 3, 4]), proa.ones([3, 4, 5]), 2).shape
        [2, 5]
    """
    x = _C.tensor_argument(x, "tensordot", "x")
    y = _C.tensor_argument(y, "tensordot", "y")
    axes = known("tensordot", "axes", axes)
    if isinstance(axes, int):
        if not 0 <= axes <= min(len(x.shape), len(y.shape)):
            raise _C.located(
                ValueError(f"tensordot: axes {axes} is more than the dims; x is {list(x.shape)}, y is {list(y.shape)}")
            )
        ax, ay = list(range(len(x.shape) - axes, len(x.shape))), list(range(axes))
    elif isinstance(axes, (list, tuple)) and axes and isinstance(axes[0], (list, tuple, _C.Tensor)):
        lists = [known_ints("tensordot", f"element {i} of axes", a) for i, a in enumerate(axes)]
        ax, ay = lists[0], lists[1] if len(lists) > 1 else lists[0]
        # A shorter list goes on with the other's axes.
        ax, ay = ax + ay[len(ax) :], ay + ax[len(ay) :]
    else:
        ax = ay = known_ints("tensordot", "axes", axes, "an int, a list of ints or two of them")
    ax, ay = [axis_of("tensordot", a, x) for a in ax], [axis_of("tensordot", a, y) for a in ay]
    free_x = [i for i in range(len(x.shape)) if i not in ax]
    free_y = [i for i in range(len(y.shape)) if i not in ay]
    # What a size of 1 stands beside is added up first.
    over_x = [i for i, j in zip(ax, ay) if is_same(y.shape[j], 1) and not is_same(x.shape[i], 1)]
    over_y = [j for i, j in zip(ax, ay) if is_same(x.shape[i], 1) and not is_same(y.shape[j], 1)]
    x = x.sum(over_x, x.dtype, True) if over_x else x
    y = y.sum(over_y, y.dtype, True) if over_y else y
    summed_x, summed_y = [x.shape[i] for i in ax], [y.shape[i] for i in ay]
    says = f"tensordot: the summed dims differ, {ax} of x and {ay} of y; x is {{}}, y is {{}}"
    x = require_sizes(x, summed_x, summed_y, says, x, y)
    ops = _C.ops
    rows, columns = [x.shape[i] for i in free_x], [y.shape[i] for i in free_y]
    inner_size = math.prod(summed_x)
    left = ops.reshape(ops.transpose(x, [*free_x, *ax]), [math.prod(rows), inner_size])
    right = ops.reshape(ops.transpose(y, [*ay, *free_y]), [inner_size, math.prod(columns)])
    return ops.reshape(ops.matmul(left, right), [*rows, *columns])


__getattr__ = _borrow(__name__, "proa")
