"""Logical and bitwise functions with an `out` argument."""

from proa import _C
from proa.framework.attributes import wrong
from proa.framework.names import borrow as _borrow
from proa.tensor.method import method as _method

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
]


def into(result, out, op):
    """`result`, written into `out` if that is given."""
    if out is None:
        return result
    if not isinstance(out, _C.Tensor):
        raise wrong(op, "out", "a Tensor", out)
    out.set_value(result if result.dtype == out.dtype else result.astype(out.dtype))
    return out


@_method
def logical_and(x, y, out=None, name=None):
    """x and y, element by element, with broadcasting; not 0 is true.

    Examples:
        >>> proa.logical_and(proa.to_tensor([True, True]), proa.to_tensor([True, False])).tolist()
        [True, False]
    """
    return into(_C.ops.logical_and(x, y), out, "logical_and")


@_method
def logical_or(x, y, out=None, name=None):
    """x or y, element by element, with broadcasting; not 0 is true.

    Examples:
        >>> proa.logical_or(proa.to_tensor([False, True]), proa.to_tensor([False, False])).tolist()
        [False, True]
    """
    return into(_C.ops.logical_or(x, y), out, "logical_or")


@_method
def logical_xor(x, y, out=None, name=None):
    """Either x or y, element by element, with broadcasting; not 0 is true.

    Examples:
        >>> proa.logical_xor(proa.to_tensor([True, True]), proa.to_tensor([True, False])).tolist()
        [False, True]
    """
    return into(_C.ops.logical_xor(x, y), out, "logical_xor")


@_method
def logical_not(x, out=None, name=None):
    """Not x, element by element; not 0 is true.

    Examples:
        >>> proa.logical_not(proa.to_tensor([True, False])).tolist()
        [False, True]
    """
    return into(_C.ops.logical_not(x), out, "logical_not")


@_method
def bitwise_and(x, y, out=None, name=None):
    """x & y of bool or integer elements, with broadcasting.

    Examples:
        >>> proa.bitwise_and(proa.to_tensor([5]), proa.to_tensor([3])).tolist()
        [1]
    """
    return into(_C.ops.bitwise_and(x, y), out, "bitwise_and")


@_method
def bitwise_or(x, y, out=None, name=None):
    """x | y of bool or integer elements, with broadcasting.

    Examples:
        >>> proa.bitwise_or(proa.to_tensor([5]), proa.to_tensor([3])).tolist()
        [7]
    """
    return into(_C.ops.bitwise_or(x, y), out, "bitwise_or")


@_method
def bitwise_xor(x, y, out=None, name=None):
    """x ^ y of bool or integer elements, with broadcasting.

    Examples:
        >>> proa.bitwise_xor(proa.to_tensor([5]), proa.to_tensor([3])).tolist()
        [6]
    """
    return into(_C.ops.bitwise_xor(x, y), out, "bitwise_xor")


@_method
def bitwise_not(x, out=None, name=None):
    """~x of bool or integer elements.

    Examples:
        >>> proa.bitwise_not(proa.to_tensor([5])).tolist()
        [-6]
    """
    return into(_C.ops.bitwise_not(x), out, "bitwise_not")


__getattr__ = _borrow(__name__, "proa")
