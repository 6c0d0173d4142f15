"""Numbers that say how large, how singular and of which rank matrices are."""

import math

from proa import _C
from proa.framework.attributes import is_late as _is_late
from proa.framework.attributes import known_ints as _known_ints
from proa.framework.attributes import known_number as _known_number
from proa.framework.attributes import known_real as _known_real
from proa.framework.attributes import number as _number
from proa.framework.dtype import finfo as _finfo
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require as _require
from proa.tensor.linalg import norm

__all__ = ["cond", "matrix_norm", "matrix_rank", "vector_norm"]


def cond(x, p=None, name=None):
    """Condition numbers of matrices: norm(x) times norm(inverse(x)).

    Args:
        x (Tensor): [..., N, N]; for p None, 2 and -2 also [..., M, N].
        p (str|float, optional): the norm: None or 2 (the largest singular value over the smallest), -2 (the reverse),
            "fro", "nuc", 1, -1, inf or -inf.

    Returns:
        Tensor: [...]. A singular matrix has inf for p None and 2 (of zeros NaN); for norms that need the inverse it is
        an error.

    Examples:
        >>> proa.linalg.cond(proa.to_tensor([[2.0, 0.0], [0.0, 1.0]])).item()
        2.0
    """
    x, p = _C.tensor_argument(x, "cond", "x"), _known_number("cond", "p", p)
    if len(x.shape) < 2:
        raise _C.located(ValueError(f"cond: x must be [..., M, N]; it is {list(x.shape)} {x.dtype.name}"))
    if isinstance(p, (bool, _C.Tensor)) or p not in (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise _C.located(ValueError(f'cond: p must be None, "fro", "nuc", 1, -1, 2, -2, inf or -inf, not {p!r}'))
    if any(isinstance(n, int) and n == 0 for n in x.shape[-2:]):
        raise _C.located(ValueError(f"cond: matrices without elements have none; x is {list(x.shape)} {x.dtype.name}"))
    if any(_is_late(n) for n in x.shape[-2:]):
        sizes = _C.ops.shape(x)[-2:]
        x = _require(x, sizes > 0, "cond: matrices without elements have none; x is [..., {}, {}]", sizes[0], sizes[1])
    if p not in (None, 2, -2):
        return norm(x, p, [-2, -1]) * norm(_C.ops.inverse(x), p, [-2, -1])
    values = _C.ops.svdvals(x)
    largest, smallest = values[..., 0], values[..., -1]
    return smallest / largest if p == -2 else largest / smallest


def vector_norm(x, p=2.0, axis=None, keepdim=False, name=None):
    """sum(|x|**p)**(1 / p) over some axes; the largest and the smallest |x| for p infinity and -infinity; for 0 how many are not 0.

    Args:
        x (Tensor): floating or complex numbers.
        p (float): any number.
        axis (int|list[int], optional): by default all.
        keepdim (bool): whether these stay with size 1.

    Examples:
        >>> proa.linalg.vector_norm(proa.to_tensor([[3.0, 4.0], [0.0, 1.0]]), axis=1).tolist()
        [5.0, 1.0]
    """
    x = _C.tensor_argument(x, "vector_norm", "x")
    if not (x.is_floating_point() or x.is_complex()):
        raise _C.located(TypeError(f"vector_norm: x must be float or complex; it is {list(x.shape)} {x.dtype.name}"))
    p = _known_real("vector_norm", "p", p)
    axis = (
        [] if axis is None else _known_ints("vector_norm", "axis", axis if isinstance(axis, (list, tuple)) else [axis])
    )
    return _C.ops.p_norm(x.abs() if x.is_complex() else x, p, axis, keepdim)


def matrix_norm(x, p="fro", axis=(-2, -1), keepdim=False, name=None):
    """The norm of matrices, which lie along two axes; `norm` says which there are.

    Examples:
        >>> proa.linalg.matrix_norm(proa.to_tensor([[3.0, 4.0], [0.0, 0.0]])).item()
        5.0
    """
    x = _C.tensor_argument(x, "matrix_norm", "x")
    axis = _known_ints("matrix_norm", "axis", axis)
    if len(axis) != 2:
        raise _C.located(ValueError(f"matrix_norm: two axes are needed, not {axis}"))
    return norm(x, _known_number("matrix_norm", "p", p), axis, keepdim)


def matrix_rank(x, tol=None, hermitian=False, name=None):
    """How many singular values of each matrix are above `tol`.

    Args:
        x (Tensor): [..., M, N].
        tol (float|Tensor, optional): broadcasts to [...]; unless given it is the largest singular value times
            max(M, N) times the epsilon of the type.
        hermitian (bool): x is Hermitian, [..., N, N]; eigenvalues of its lower triangle are used.

    Returns:
        Tensor: int64 [...].

    Examples:
        >>> proa.linalg.matrix_rank(proa.to_tensor([[1.0, 2.0], [2.0, 4.0]])).item()
        1
    """
    x, tol = _C.tensor_argument(x, "matrix_rank", "x"), _number(tol)
    ops = _C.ops
    values = ops.abs(ops.eigvalsh(x)) if hermitian else ops.svdvals(x)
    if tol is None:
        if any(isinstance(n, int) and n == 0 for n in x.shape[-2:]):
            limit = 0.0
        else:
            rows, columns = x.shape[-2:]
            larger = max(rows, columns) if isinstance(rows, int) and isinstance(columns, int) else _larger(x)
            # (A program may be run on matrices without rows.)
            limit = (
                ops.max(ops.pad(values, [0, 0] * (len(x.shape) - 2) + [0, 1]), [-1], True)
                * _finfo(values.dtype).eps
                * larger
            )
    elif isinstance(tol, _C.Tensor):
        limit = ops.unsqueeze(ops.cast(tol, values.dtype), [-1])
    elif isinstance(tol, bool) or not isinstance(tol, (int, float)):
        raise _C.located(TypeError(f"matrix_rank: tol must be a number or a Tensor, not {type(tol).__name__}"))
    else:
        limit = float(tol)
    return ops.sum(ops.cast(values > limit, _C.int64), [-1])


def _larger(x):
    """The larger size of matrices, of a program that knows it when it runs."""
    rank = len(x.shape)
    sizes = _C.ops.slice(_C.ops.shape(x), [0], [rank - 2], [rank])
    return _C.ops.cast(_C.ops.max(sizes), _C.ops.real(x).dtype)


__getattr__ = _borrow(__name__, "proa")
