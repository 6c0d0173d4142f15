"""Products and factors of matrices."""

import collections
import math

from proa import _C
from proa import linalg as _linalg
from proa.array_api.dtypes import finfo as _finfo
from proa.array_api.manipulation import axes_of as _axes_of
from proa.array_api.reductions import sum as _sum

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

EighResult = collections.namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = collections.namedtuple("QRResult", "Q R")
SlogdetResult = collections.namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = collections.namedtuple("SVDResult", "U S Vh")


def _adjoint(x):
    return _C.ops.conj(matrix_transpose(x))


def matmul(x1, x2, /):
    """Matrix product; vectors count as a row on the left and a column on the right.

    Examples:
        >>> proa.array_api.matmul(proa.ones([2, 3]), proa.ones([3])).tolist()
        [3.0, 3.0]
    """
    if not x1.ndim or not x2.ndim:
        raise _C.located(ValueError("matmul: tensors without dims have no product; multiply them"))
    return _C.ops.matmul(x1, x2)


def matrix_transpose(x, /):
    """Each matrix with rows and columns swapped.

    Examples:
        >>> proa.array_api.matrix_transpose(proa.ones([4, 2, 3])).shape
        [4, 3, 2]
    """
    if x.ndim < 2:
        raise _C.located(ValueError(f"matrix_transpose: 2 dims are needed; x is {x.shape} {x.dtype.name}"))
    return _C.ops.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over the last `axes` dims of x1 and the first of x2, or over two tuples of axes.

    Examples:
        >>> proa.array_api.tensordot(proa.ones([2, 3]), proa.ones([3, 4]), axes=1).shape
        [2, 4]
    """
    if isinstance(axes, int):
        axes = (tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes)))
    left, right = ([a % x.ndim for a in _axes_of(ax)] for a, (x, ax) in enumerate(zip((x1, x2), axes)))
    if [x1.shape[a] for a in left] != [x2.shape[a] for a in right]:
        raise _C.located(ValueError(f"tensordot: axes {axes} of {x1.shape} and {x2.shape} have other sizes"))
    rest = [[d for d in range(x.ndim) if d not in used] for x, used in ((x1, left), (x2, right))]
    inner = math.prod(x1.shape[a] for a in left)
    shapes = [[x.shape[d] for d in kept] for x, kept in ((x1, rest[0]), (x2, rest[1]))]
    rows, columns = (math.prod(shape) for shape in shapes)
    a = _C.ops.transpose(x1, rest[0] + left) if x1.ndim else x1
    b = _C.ops.transpose(x2, right + rest[1]) if x2.ndim else x2
    out = _C.ops.matmul(_C.ops.reshape(a, [rows, inner]), _C.ops.reshape(b, [inner, columns]))
    shape = shapes[0] + shapes[1]
    return _C.ops.reshape(out, shape) if 0 not in shape else _C.ops.full(shape, 0, out.dtype)


def vecdot(x1, x2, /, *, axis=-1):
    """Sums of conj(x1) * x2 along an axis.

    Examples:
        >>> proa.array_api.vecdot(proa.to_tensor([1j]), proa.to_tensor([1j])).item()
        (1+0j)
    """
    if not axis < 0:
        raise _C.located(ValueError(f"vecdot: axis must be negative, not {axis}"))
    if x1.shape[axis] != x2.shape[axis]:
        raise _C.located(ValueError(f"vecdot: dim {axis} of {x1.shape} and {x2.shape} has other sizes"))
    product = _C.ops.conj(x1) * x2
    return _sum(product, axis=axis, dtype=product.dtype)


def cholesky(x, /, *, upper=False):
    """The triangular factor of positive definite matrices.

    Examples:
        >>> proa.array_api.linalg.cholesky(proa.to_tensor([[4.0, 0.0], [0.0, 9.0]])).tolist()
        [[2.0, 0.0], [0.0, 3.0]]
    """
    return _linalg.cholesky(x, upper)


def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of 3 along an axis.

    Examples:
        >>> proa.array_api.linalg.cross(proa.to_tensor([1, 0, 0]), proa.to_tensor([0, 1, 0])).tolist()
        [0, 0, 1]
    """
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise _C.located(ValueError(f"cross: dim {axis} of {x1.shape} and {x2.shape} must be 3"))
    a, b = _C.ops.unbind(x1, axis), _C.ops.unbind(x2, axis)
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return _C.ops.stack(parts, axis)


def det(x, /):
    """Determinants of matrices.

    Examples:
        >>> round(proa.array_api.linalg.det(proa.to_tensor([[1.0, 2.0], [3.0, 4.0]])).item(), 4)
        -2.0
    """
    return _linalg.det(x)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices, as the last dim.

    Examples:
        >>> proa.array_api.linalg.diagonal(proa.to_tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """
    return _C.ops.diagonal(x, offset, -2, -1)


def eigh(x, /):
    """Eigenvalues, in rising order, and eigenvectors of symmetric or Hermitian matrices.

    Examples:
        >>> values, vectors = proa.array_api.linalg.eigh(proa.to_tensor([[2.0, 0.0], [0.0, 1.0]]))
        >>> values.tolist(), vectors.shape
        ([1.0, 2.0], [2, 2])
    """
    return EighResult(*_linalg.eigh(x))


def eigvalsh(x, /):
    """Eigenvalues, in rising order, of symmetric or Hermitian matrices.

    Examples:
        >>> proa.array_api.linalg.eigvalsh(proa.to_tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
        [1.0, 2.0]
    """
    return _linalg.eigvalsh(x)


def inv(x, /):
    """Inverses of matrices.

    Examples:
        >>> proa.array_api.linalg.inv(proa.to_tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    return _linalg.inv(x)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):  # noqa: A002
    """Norms of matrices: "fro", "nuc", or inf, -inf, 1, -1, 2, -2.

    Examples:
        >>> proa.array_api.linalg.matrix_norm(proa.to_tensor([[3.0, 0.0], [0.0, 4.0]])).item()
        5.0
    """
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        pick = {"nuc": _C.ops.sum, 2: _C.ops.max, -2: _C.ops.min}[ord]
        out = pick(values, [-1])
    elif ord in (1, -1, math.inf, -math.inf):
        sums = _C.ops.sum(_C.ops.abs(x), [-2 if abs(ord) == 1 else -1])
        out = (_C.ops.max if ord > 0 else _C.ops.min)(sums, [-1])
    else:
        raise _C.located(ValueError(f"matrix_norm: ord is {ord!r}"))
    return _C.ops.unsqueeze(out, [out.ndim, out.ndim + 1]) if keepdims else out


def matrix_power(x, n, /):
    """Matrices multiplied with themselves; their inverses for n < 0.

    Examples:
        >>> proa.array_api.linalg.matrix_power(proa.to_tensor([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
        [[1.0, 3.0], [0.0, 1.0]]
    """
    return _linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are larger than rtol times the largest.

    Args:
        rtol (float|Tensor, optional): max(M, N) * eps unless given.

    Examples:
        >>> proa.array_api.linalg.matrix_rank(proa.ones([3, 3])).item()
        1
    """
    values = svdvals(x)
    if not values.shape[-1]:
        return _C.ops.full(x.shape[:-2], 0, _C.int64)
    rtol = max(x.shape[-2:]) * _finfo(values).eps if rtol is None else rtol
    rtol = _C.ops.unsqueeze(rtol, [-1]) if isinstance(rtol, _C.Tensor) else rtol
    return _sum(values > _C.ops.max(values, [-1], True) * rtol, axis=-1)


def outer(x1, x2, /):
    """Products of all pairs of elements of two vectors.

    Examples:
        >>> proa.array_api.linalg.outer(proa.to_tensor([1, 2]), proa.to_tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """
    if x1.ndim != 1 or x2.ndim != 1:
        raise _C.located(ValueError(f"outer: vectors are needed; x1 is {x1.shape}, x2 is {x2.shape}"))
    return _C.ops.outer(x1, x2)


def pinv(x, /, *, rtol=None):
    """Pseudo-inverses of matrices; singular values up to rtol times the largest count as zero.

    Examples:
        >>> proa.array_api.linalg.pinv(proa.to_tensor([[2.0, 0.0], [0.0, 0.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.0]]
    """
    u, s, vh = svd(x, full_matrices=False)
    rtol = max(x.shape[-2:]) * _finfo(s).eps if rtol is None else rtol
    rtol = _C.ops.unsqueeze(rtol, [-1]) if isinstance(rtol, _C.Tensor) else rtol
    keeps = s > _C.ops.max(s, [-1], True) * rtol
    inverse = _C.ops.where(keeps, 1 / _C.ops.where(keeps, s, _C.ops.full_like(s, 1)), _C.ops.full_like(s, 0))
    return _C.ops.matmul(_adjoint(vh), _C.ops.unsqueeze(inverse, [-1]) * _adjoint(u))


def qr(x, /, *, mode="reduced"):
    """Orthogonal and triangular factors.

    Args:
        mode (str): "reduced" or "complete".

    Examples:
        >>> q, r = proa.array_api.linalg.qr(proa.ones([3, 2]))
        >>> q.shape, r.shape
        ([3, 2], [2, 2])
    """
    if mode not in ("reduced", "complete"):
        raise _C.located(ValueError(f"qr: mode is {mode!r}; it may be 'reduced' or 'complete'"))
    return QRResult(*_linalg.qr(x, mode))


def slogdet(x, /):
    """Signs and logarithms of the sizes of determinants.

    Examples:
        >>> proa.array_api.linalg.slogdet(proa.to_tensor([[-1.0, 0.0], [0.0, 1.0]])).sign.item()
        -1.0
    """
    sign, size = _C.ops.unbind(_linalg.slogdet(x), 0)
    return SlogdetResult(sign, _C.ops.real(size) if size.is_complex() else size)


def solve(x1, x2, /):
    """The solution y of x1 @ y = x2; x2 is a vector if it has one dim, else matrices.

    Examples:
        >>> proa.array_api.linalg.solve(proa.to_tensor([[2.0, 0.0], [0.0, 4.0]]), proa.to_tensor([2.0, 2.0])).tolist()
        [1.0, 0.5]
    """
    if x2.ndim == 1:
        return _C.ops.squeeze(_linalg.solve(x1, _C.ops.unsqueeze(x2, [1])), [-1])
    if x2.ndim < x1.ndim:  # matrices, too: not the vectors that `linalg.solve` may take them for
        x2 = _C.ops.broadcast_to(x2, [*x1.shape[:-2], *x2.shape[-2:]])
    return _linalg.solve(x1, x2)


def svd(x, /, *, full_matrices=True):
    """Singular vectors and values: x = U @ diag(S) @ Vh.

    Examples:
        >>> u, s, vh = proa.array_api.linalg.svd(proa.ones([3, 2]), full_matrices=False)
        >>> u.shape, s.shape, vh.shape
        ([3, 2], [2], [2, 2])
    """
    return SVDResult(*_linalg.svd(x, full_matrices))


def svdvals(x, /):
    """Singular values, the largest first.

    Examples:
        >>> proa.array_api.linalg.svdvals(proa.to_tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
        [4.0, 3.0]
    """
    return _linalg.svdvals(x)


def trace(x, /, *, offset=0, dtype=None):
    """Sums along the diagonals of matrices.

    Examples:
        >>> proa.array_api.linalg.trace(proa.to_tensor([[1, 2], [3, 4]])).item()
        5
    """
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):  # noqa: A002
    """Norms over axes: sum(|x|^ord)^(1/ord); inf, -inf and 0 too.

    Examples:
        >>> proa.array_api.linalg.vector_norm(proa.to_tensor([3.0, -4.0])).item()
        5.0
    """
    size = _C.ops.abs(x)
    if axis == ():
        return size if ord else _C.ops.cast(size != 0, size.dtype)
    if not ord:
        return _sum(_C.ops.cast(size != 0, size.dtype), axis=axis, keepdims=keepdims)
    return _C.ops.p_norm(size, float(ord), _axes_of(axis), keepdims)
