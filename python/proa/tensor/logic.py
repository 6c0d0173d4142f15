"""Logical and bitwise functions with an `out` argument."""

from proa import _C
from proa.framework.attributes import wrong
from proa.framework.names import borrow as _borrow
from proa.tensor.method import method as _method

__all__ = [
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
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


@_method
def bitwise_invert(x, out=None, name=None):
    """~x of bool or integer elements; another name of `bitwise_not`.

    Examples:
        >>> proa.bitwise_invert(proa.to_tensor([5])).tolist()
        [-6]
    """
    return into(_C.ops.bitwise_not(x), out, "bitwise_invert")


@_method
def bitwise_left_shift(x, y, is_arithmetic=True, out=None, name=None):
    """x << y of integer elements, with broadcasting: zeros come from behind; 0 where y is no number of bits there are.

    An arithmetic and a logical shift are the same here.

    Examples:
        >>> proa.bitwise_left_shift(proa.to_tensor([1, -3]), proa.to_tensor([4, 1])).tolist()
        [16, -6]
    """
    return into(_C.ops.bitwise_left_shift(x, y, is_arithmetic), out, "bitwise_left_shift")


@_method
def bitwise_right_shift(x, y, is_arithmetic=True, out=None, name=None):
    """x >> y of integer elements, with broadcasting: from before comes the sign, or zeros if not is_arithmetic.

    Where y is negative or no less than the bits there are, only these are left.

    Examples:
        >>> x = proa.to_tensor([-16, 16], dtype="int32")
        >>> proa.bitwise_right_shift(x, proa.to_tensor([3, 3], dtype="int32")).tolist()
        [-2, 2]
        >>> proa.bitwise_right_shift(x, proa.to_tensor([28, 40], dtype="int32"), is_arithmetic=False).tolist()
        [15, 0]
    """
    return into(_C.ops.bitwise_right_shift(x, y, is_arithmetic), out, "bitwise_right_shift")


__getattr__ = _borrow(__name__, "proa")
