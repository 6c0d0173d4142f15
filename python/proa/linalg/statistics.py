"""Covariances and correlations."""

from proa import _C
from proa.framework.attributes import is_late
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import as_tensor, require
from proa.tensor.precision import keeps_types, narrowed, widened

__all__ = ["corrcoef", "cov"]


def _is_one(size):
    return not is_late(size) and size == 1


def _of_several(name, x, axis):
    """x, whose size along axis is known or is not 1 when the program runs: of one variable the result has no dims."""
    size = x.shape[axis]
    if not is_late(size):
        return x
    says = f"{name}: dim {axis} is open in this program and must not be 1, as the result would have no dims; x is {{}}"
    return require(x, as_tensor([size]) != 1, says, _C.ops.shape(x))


@keeps_types
def cov(x, rowvar=True, ddof=True, fweights=None, aweights=None, name=None):
    """The covariance matrix of several variables.

    Args:
        x (Tensor): [variables, observations], or one variable [observations].
        rowvar (bool): False: the variables are the columns.
        ddof (bool): divide by the number of observations less 1.
        fweights (Tensor, optional): how often each observation counts, integers.
        aweights (Tensor, optional): weight of each observation.

    Returns:
        Tensor: [variables, variables]; 0-d for one variable.

    Examples:
        >>> proa.linalg.cov(proa.to_tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    x = _C.tensor_argument(x, "cov", "x")
    if len(x.shape) > 2:
        raise _C.located(ValueError(f"cov: x must have 1 or 2 dims; it is {list(x.shape)} {x.dtype.name}"))
    rows = widened(_C.ops.reshape(x, [1, -1]) if len(x.shape) < 2 else x)  # squares, and a count
    # One row is one variable, whatever rowvar says, as in NumPy.
    rows = _of_several("cov", rows, 0)
    if not rowvar and not _is_one(rows.shape[0]):
        rows = _C.ops.transpose(_of_several("cov", rows, 1), [1, 0])
    weights = None
    if fweights is not None:
        fweights = _C.tensor_argument(fweights, "cov", "fweights")
        weights = fweights.astype(rows.dtype)
    if aweights is not None:
        aweights = _C.tensor_argument(aweights, "cov", "aweights")
        weights = aweights.astype(rows.dtype) if weights is None else weights * aweights.astype(rows.dtype)
    if weights is None:
        count = _C.ops.shape(rows)[1].astype(rows.dtype)
        centred = rows - rows.mean(1, keepdim=True)
        # 0 / 0, not a number, where there are too few.
        out = _C.ops.matmul(centred, centred, False, True) / _C.ops.clip(count - (1.0 if ddof else 0.0), 0.0)
    else:
        total = weights.sum()
        centred = rows - (rows * weights).sum(1, keepdim=True) / total
        lost = 0.0
        if ddof:
            lost = 1.0 if aweights is None else (weights * aweights.astype(rows.dtype)).sum() / total
        out = _C.ops.matmul(centred, centred * weights, False, True) / (total - lost)
    return narrowed(_C.ops.squeeze(out, [0, 1]) if _is_one(rows.shape[0]) else out, x)


@keeps_types
def corrcoef(x, rowvar=True, name=None):
    """The correlation coefficients of several variables: their covariances over the products of their deviations.

    Args:
        x (Tensor): [variables, observations], or one variable [observations].
        rowvar (bool): False: the variables are the columns.

    Returns:
        Tensor: [variables, variables], from -1 to 1; 0-d for one variable. A variable that is constant has NaN.

    Examples:
        >>> proa.linalg.corrcoef(proa.to_tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    x = _C.tensor_argument(x, "corrcoef", "x")
    if len(x.shape) not in (1, 2):
        raise _C.located(ValueError(f"corrcoef: x must have 1 or 2 dims; it is {list(x.shape)} {x.dtype.name}"))
    found = cov(widened(x), rowvar)
    if not found.shape:
        return narrowed(found / found, x)
    deviations = _C.ops.sqrt(_C.ops.diagonal(found))
    found = found / _C.ops.unsqueeze(deviations, 1) / _C.ops.unsqueeze(deviations, 0)
    return narrowed(_C.ops.clip(found, -1.0, 1.0), x)


__getattr__ = _borrow(__name__, "proa")
