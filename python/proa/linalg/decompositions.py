"""Factors of matrices, and what is solved with them."""

from proa import _C
from proa.framework.attributes import number as _number
from proa.framework.names import borrow as _borrow
from proa.tensor.precision import keeps_types

__all__ = ["lstsq", "lu", "lu_unpack", "pinv", "qr"]


def qr(x, mode="reduced", name=None):
    """QR of matrices: x = q r, q with orthonormal columns, r upper triangular.

    By Householder's reflections; the diagonal of r is real, and may be negative. Gradients need the first
    min(M, N) columns of x to be independent, and sizes M and N that are known.

    Args:
        x (Tensor): [..., M, N].
        mode (str): "reduced": q [..., M, K] and r [..., K, N] with K = min(M, N); "complete": q [..., M, M] and
            r [..., M, N]; "r": only r of "reduced".

    Returns:
        tuple[Tensor, Tensor] | Tensor: q and r; for "r" r alone.

    Raises:
        ValueError: x has less than two dims; another mode.

    Examples:
        >>> q, r = proa.linalg.qr(proa.to_tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> proa.allclose(proa.matmul(q, r), proa.to_tensor([[3.0, 1.0], [4.0, 2.0]])).item()
        True
    """
    q, r = _C.ops.qr(x, mode)
    return r if mode == "r" else (q, r)


def lu(x, pivot=True, get_infos=False, name=None):
    """LU of matrices with partial pivoting, in one tensor: lu_unpack takes it apart.

    Args:
        x (Tensor): [..., M, N].
        pivot (bool): False: no rows are swapped, which fails (infinity, NaN) where a pivot is 0, and loses digits where
            one is small.
        get_infos (bool): give infos as well.

    Returns:
        tuple[Tensor, ...]: the factors [..., M, N]; int32 pivots [..., min(M, N)], with which row, from 1, each row was
        swapped; and int32 infos [...], the first pivot that is 0, from 1, or 0.

    Examples:
        >>> factors, pivots = proa.linalg.lu(proa.to_tensor([[1.0, 2.0], [4.0, 4.0]]))
        >>> factors.tolist(), pivots.tolist()
        ([[4.0, 4.0], [0.25, 1.0]], [2, 2])
    """
    factors, pivots, infos = _C.ops.lu(x, bool(pivot))
    return (factors, pivots, infos) if get_infos else (factors, pivots)


def lu_unpack(x, y, unpack_ludata=True, unpack_pivots=True, name=None):
    """P, L and U of what lu gives: P L U is the matrix.

    Args:
        x (Tensor): the factors, [..., M, N].
        y (Tensor): the pivots, [..., min(M, N)] int32.
        unpack_ludata (bool): give L and U, else empty tensors.
        unpack_pivots (bool): give P, else an empty tensor.

    Returns:
        tuple[Tensor, Tensor, Tensor]: P [..., M, M], L [..., M, K] and U [..., K, N] with K = min(M, N).

    Examples:
        >>> p, l, u = proa.linalg.lu_unpack(*proa.linalg.lu(proa.to_tensor([[1.0, 2.0], [4.0, 4.0]])))
        >>> proa.matmul(p, proa.matmul(l, u)).tolist()
        [[1.0, 2.0], [4.0, 4.0]]
    """
    x = _C.tensor_argument(x, "lu_unpack", "x")
    y = _C.tensor_argument(y, "lu_unpack", "y")
    rank = len(x.shape)
    if rank < 2:
        raise _C.located(ValueError(f"lu_unpack: x must be [..., M, N]; it is {list(x.shape)} {x.dtype.name}"))
    if y.dtype != _C.int32:
        raise _C.located(TypeError(f"lu_unpack: y must be int32; it is {list(y.shape)} {y.dtype.name}"))
    rows, columns = x.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise _C.located(ValueError(f"lu_unpack: the sizes of the matrices must be known; x is {list(x.shape)}"))
    ops, smaller = _C.ops, min(rows, columns)
    if list(y.shape) != [*x.shape[:-2], smaller]:
        raise _C.located(
            ValueError(f"lu_unpack: y must be {[*x.shape[:-2], smaller]}; it is {list(y.shape)} {y.dtype.name}")
        )
    empty = ops.full([0], 0.0, x.dtype)
    p = ops.lu_permutation(y, rows, x.dtype) if unpack_pivots else empty
    if not unpack_ludata:
        return p, empty, empty
    left = ops.slice(x, [rank - 1], [0], [smaller]) if columns > smaller else x
    upper = ops.slice(x, [rank - 2], [0], [smaller]) if rows > smaller else x
    return p, ops.tril(left, -1) + ops.eye(rows, smaller, x.dtype), ops.triu(upper)


def pinv(x, rcond=1e-15, hermitian=False, name=None):
    """Pseudoinverses of matrices (Moore and Penrose), by singular values.

    Args:
        x (Tensor): [..., M, N].
        rcond (float|Tensor): singular values up to rcond times the largest count as 0; a tensor has one number, or
            one for each matrix ([...] or [..., 1]).
        hermitian (bool): x is Hermitian, [..., N, N]; eigenvalues of its lower triangle are used.

    Returns:
        Tensor: [..., N, M].

    Examples:
        >>> proa.linalg.pinv(proa.to_tensor([[2.0, 0.0], [0.0, 0.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.0]]
    """
    x = _C.tensor_argument(x, "pinv", "x")
    ops, rcond = _C.ops, _number(rcond)
    if isinstance(rcond, _C.Tensor):
        rcond = ops.cast(rcond, _C.float64)
        if len(rcond.shape) == len(x.shape) - 1:
            rcond = ops.squeeze(rcond, [-1])
        if rcond.size == 1:
            rcond = ops.reshape(rcond, [])
    elif isinstance(rcond, bool) or not isinstance(rcond, (int, float)):
        raise _C.located(TypeError(f"pinv: rcond must be a number or a Tensor, not {type(rcond).__name__}"))
    else:
        rcond = ops.full([], float(rcond), _C.float64)
    return ops.pinv(x, rcond, bool(hermitian))


@keeps_types
def lstsq(x, y, rcond=None, driver=None, name=None):
    """The solution that makes |x solution - y| least and, of several, is the least itself.

    Args:
        x (Tensor): [..., M, N].
        y (Tensor): [..., M, K]; its batch dims broadcast to those of x.
        rcond (float, optional): singular values up to rcond times the largest count as 0; max(M, N) times the
            epsilon of the type unless given.
        driver (str, optional): "gels" (by QR, full rank), "gelsy" (unless given), "gelsd" or "gelss" (by singular values).

    Returns:
        tuple[Tensor, Tensor, Tensor, Tensor]: the solution [..., N, K]; residuals [..., K], the sums of squares of
        x solution - y, empty unless M > N; int32 ranks [...], empty for "gels"; singular values [..., min(M, N)],
        empty but for "gelsd" and "gelss".

    Raises:
        ValueError: another driver; shapes that do not fit; "gels" of a matrix that has a column of zeros after elimination.

    Examples:
        >>> x = proa.to_tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> y = proa.to_tensor([[1.0], [3.0], [5.0]])
        >>> [round(v, 4) for v in proa.linalg.lstsq(x, y)[0].flatten().tolist()]
        [1.0, 2.0]
    """
    x = _C.tensor_argument(x, "lstsq", "x")
    y = _C.tensor_argument(y, "lstsq", "y")
    rcond = _number(rcond)
    if rcond is None:
        rcond = -1.0
    elif isinstance(rcond, bool) or not isinstance(rcond, (int, float)) or not rcond >= 0:
        raise _C.located(ValueError(f"lstsq: rcond must be a number from 0 on, or None; it is {rcond!r}"))
    driver = "gelsy" if driver is None else driver
    ops = _C.ops
    solution, rank, values = ops.lstsq(x, y, float(rcond), driver)
    rows, columns = x.shape[-2:]
    if not (isinstance(rows, int) and isinstance(columns, int)):
        raise _C.located(
            ValueError(
                "lstsq: the sizes of x must be known when the program is recorded, whether there are residuals depends on "
                f"them; x is {list(x.shape)} {x.dtype.name}"
            )
        )
    if rows <= columns:
        residuals = ops.full([0], 0.0, values.dtype)
    else:
        missed = ops.subtract(ops.matmul(x, solution), y)
        residuals = ops.sum(ops.real(ops.multiply(missed, ops.conj(missed))), [-2])
    if driver == "gels":
        rank = ops.full([0], 0, _C.int32)
    return solution, residuals, rank, values


__getattr__ = _borrow(__name__, "proa")
