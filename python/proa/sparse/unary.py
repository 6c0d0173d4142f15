"""Functions of each element that leave zero as it is: they act on the values that are held."""

from proa import _C
from proa.framework.dtype import as_dtype
from proa.sparse.tensor import SparseTensor

__all__ = [
    "abs", "asin", "asinh", "atan", "atanh", "cast", "deg2rad", "expm1", "isnan", "log1p", "neg", "pow", "rad2deg", "sin",
    "sinh", "sqrt", "square", "tan", "tanh",
]  # fmt: skip


def sparse_argument(op, name, x):
    """x, if it is sparse; else an error that says how to make it so."""
    if isinstance(x, SparseTensor):
        return x
    kind = "a dense tensor" if isinstance(x, _C.Tensor) else type(x).__name__
    raise _C.located(TypeError(f"{op}: {name} must be a sparse tensor, not {kind}; see Tensor.to_sparse_coo"))


def of_values(op, function, x):
    """The tensor with function(values); elements at one place are added up first."""
    x = sparse_argument(op, "x", x)._distinct()
    return x._with_values(function(x._values))


def abs(x, name=None):
    """The absolute values.

    Args:
        x (SparseTensor): numbers.
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 2]], [-1.0, 2.0], [3])
        >>> proa.sparse.abs(x).to_dense().tolist()
        [1.0, 0.0, 2.0]
    """
    return of_values("abs", _C.ops.abs, x)


def asin(x, name=None):
    """The angles in radians with these sines, NaN outside of [-1, 1]; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> round(proa.sparse.asin(x).values().item(), 4)
        1.5708
    """
    return of_values("asin", _C.ops.asin, x)


def asinh(x, name=None):
    """The inverse of sinh; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> round(proa.sparse.asinh(x).values().item(), 4)
        0.8814
    """
    return of_values("asinh", _C.ops.asinh, x)


def atan(x, name=None):
    """The angles in radians with these tangents; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> round(proa.sparse.atan(x).values().item(), 4)
        0.7854
    """
    return of_values("atan", _C.ops.atan, x)


def atanh(x, name=None):
    """The inverse of tanh; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [0.5], [2])
        >>> round(proa.sparse.atanh(x).values().item(), 4)
        0.5493
    """
    return of_values("atanh", _C.ops.atanh, x)


def cast(x, index_dtype=None, value_dtype=None, name=None):
    """The tensor with indices and values of other dtypes.

    Args:
        x (SparseTensor): the tensor.
        index_dtype (str, optional): int32 or int64.
        value_dtype (str, optional): of the values.
        name (str, optional): not used.

    Raises:
        ValueError: index_dtype is another dtype.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.5], [2])
        >>> x = proa.sparse.cast(x, "int32", "float64")
        >>> x.indices().dtype.name, x.dtype.name
        ('int32', 'float64')
    """
    x = sparse_argument("cast", "x", x)
    if value_dtype is not None:
        x = x.astype(as_dtype(value_dtype))
    if index_dtype is None:
        return x
    index_dtype = as_dtype(index_dtype)
    if index_dtype not in (_C.int32, _C.int64):
        raise _C.located(ValueError(f"cast: index_dtype must be int32 or int64, not {index_dtype.name}"))
    *parts, _ = x._parts().values()
    return type(x)(*(part.astype(index_dtype) for part in parts), x._values, x._shape, x._coalesced)


def deg2rad(x, name=None):
    """Degrees in radians; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [180.0], [2])
        >>> round(proa.sparse.deg2rad(x).values().item(), 4)
        3.1416
    """
    from proa.tensor.math import deg2rad as of_dense

    return of_values("deg2rad", of_dense, x)


def expm1(x, name=None):
    """e^x - 1; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> round(proa.sparse.expm1(x).values().item(), 4)
        1.7183
    """
    return of_values("expm1", _C.ops.expm1, x)


def isnan(x, name=None):
    """Whether each held element is NaN, a sparse tensor of bools; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1]], [1.0, float("nan")], [3])
        >>> proa.sparse.isnan(x).values().tolist()
        [False, True]
    """
    return of_values("isnan", _C.ops.isnan, x)


def log1p(x, name=None):
    """log(1 + x), NaN below -1; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> round(proa.sparse.log1p(x).values().item(), 4)
        0.6931
    """
    return of_values("log1p", _C.ops.log1p, x)


def neg(x, name=None):
    """The numbers with the other sign; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> proa.sparse.neg(x).to_dense().tolist()
        [-1.0, 0.0]
    """
    return of_values("neg", _C.ops.neg, x)


def pow(x, factor, name=None):
    """x to the power `factor`, of the elements that are held.

    Args:
        x (SparseTensor): numbers.
        factor (float): the exponent. With 0 and below, elements that are not held still stay zero.
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [3.0], [2])
        >>> proa.sparse.pow(x, 2).to_dense().tolist()
        [9.0, 0.0]
    """
    return of_values("pow", lambda values: _C.ops.pow(values, factor), x)


def rad2deg(x, name=None):
    """Radians in degrees; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [3.14159265], [2])
        >>> round(proa.sparse.rad2deg(x).values().item(), 2)
        180.0
    """
    from proa.tensor.math import rad2deg as of_dense

    return of_values("rad2deg", of_dense, x)


def sin(x, name=None):
    """The sines of angles in radians; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> round(proa.sparse.sin(x).values().item(), 4)
        0.8415
    """
    return of_values("sin", _C.ops.sin, x)


def sinh(x, name=None):
    """The hyperbolic sines; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> round(proa.sparse.sinh(x).values().item(), 4)
        1.1752
    """
    return of_values("sinh", _C.ops.sinh, x)


def sqrt(x, name=None):
    """The square roots, NaN below 0; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [4.0], [2])
        >>> proa.sparse.sqrt(x).to_dense().tolist()
        [2.0, 0.0]
    """
    return of_values("sqrt", _C.ops.sqrt, x)


def square(x, name=None):
    """The squares; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [4.0], [2])
        >>> proa.sparse.square(x).to_dense().tolist()
        [16.0, 0.0]
    """
    return of_values("square", _C.ops.square, x)


def tan(x, name=None):
    """The tangents of angles in radians; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> round(proa.sparse.tan(x).values().item(), 4)
        1.5574
    """
    return of_values("tan", _C.ops.tan, x)


def tanh(x, name=None):
    """The hyperbolic tangents; arguments as in abs.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0]], [1.0], [2])
        >>> round(proa.sparse.tanh(x).values().item(), 4)
        0.7616
    """
    return of_values("tanh", _C.ops.tanh, x)
