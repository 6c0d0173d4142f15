"""Functions of each element.

Those that are one op are made of the table `_OPS`; the others say what they are made of.
"""

import math
import re

from proa import _C

# The standard's name: the op, and an example: what is put in, and what comes out.
_UNARY = {
    "abs": ("abs", "[-1.5, 2.0]", "[1.5, 2.0]"),
    "acos": ("acos", "[1.0]", "[0.0]"),
    "acosh": ("acosh", "[1.0]", "[0.0]"),
    "asin": ("asin", "[0.0]", "[0.0]"),
    "asinh": ("asinh", "[0.0]", "[0.0]"),
    "atan": ("atan", "[0.0]", "[0.0]"),
    "atanh": ("atanh", "[0.0]", "[0.0]"),
    "bitwise_invert": ("bitwise_not", "[0, 5]", "[-1, -6]"),
    "ceil": ("ceil", "[1.25, -1.25]", "[2.0, -1.0]"),
    "conj": ("conj", "[1 + 2j]", "[(1-2j)]"),
    "cos": ("cos", "[0.0]", "[1.0]"),
    "cosh": ("cosh", "[0.0]", "[1.0]"),
    "exp": ("exp", "[0.0]", "[1.0]"),
    "floor": ("floor", "[1.25, -1.25]", "[1.0, -2.0]"),
    "imag": ("imag", "[1 + 2j]", "[2.0]"),
    "isfinite": ("isfinite", "[1.0, float('inf'), float('nan')]", "[True, False, False]"),
    "isinf": ("isinf", "[1.0, float('inf'), float('nan')]", "[False, True, False]"),
    "isnan": ("isnan", "[1.0, float('inf'), float('nan')]", "[False, False, True]"),
    "log": ("log", "[1.0, 0.0]", "[0.0, -inf]"),
    "logical_not": ("logical_not", "[True, False]", "[False, True]"),
    "negative": ("neg", "[1, -2]", "[-1, 2]"),
    "real": ("real", "[1 + 2j]", "[1.0]"),
    "reciprocal": ("reciprocal", "[2.0, 4.0]", "[0.5, 0.25]"),
    "signbit": ("signbit", "[-0.0, 0.0, -3.0]", "[True, False, True]"),
    "sin": ("sin", "[0.0]", "[0.0]"),
    "sinh": ("sinh", "[0.0]", "[0.0]"),
    "sqrt": ("sqrt", "[4.0, 9.0]", "[2.0, 3.0]"),
    "square": ("square", "[2, -3]", "[4, 9]"),
    "tan": ("tan", "[0.0]", "[0.0]"),
    "tanh": ("tanh", "[0.0]", "[0.0]"),
    "trunc": ("trunc", "[1.75, -1.75]", "[1.0, -1.0]"),
}
_BINARY = {
    "add": ("add", "[1, 2], [3, 4]", "[4, 6]"),
    "atan2": ("atan2", "[0.0], [1.0]", "[0.0]"),
    "bitwise_and": ("bitwise_and", "[6], [3]", "[2]"),
    "bitwise_left_shift": ("bitwise_left_shift", "[1, -3], [4, 1]", "[16, -6]"),
    "bitwise_or": ("bitwise_or", "[6], [3]", "[7]"),
    "bitwise_right_shift": ("bitwise_right_shift", "[16, -1], [3, 63]", "[2, -1]"),
    "bitwise_xor": ("bitwise_xor", "[6], [3]", "[5]"),
    "copysign": ("copysign", "[1.0, 2.0], [-0.0, 3.0]", "[-1.0, 2.0]"),
    "divide": ("divide", "[1.0, 3.0], [2.0, 4.0]", "[0.5, 0.75]"),
    "equal": ("equal", "[1, 2], [1, 3]", "[True, False]"),
    "floor_divide": ("floor_divide", "[7, -7], [2, 2]", "[3, -4]"),
    "greater": ("greater_than", "[1, 2], [1, 1]", "[False, True]"),
    "greater_equal": ("greater_equal", "[1, 2], [1, 3]", "[True, False]"),
    "hypot": ("hypot", "[3.0, 5.0], [4.0, 12.0]", "[5.0, 13.0]"),
    "less": ("less_than", "[1, 2], [1, 3]", "[False, True]"),
    "less_equal": ("less_equal", "[1, 2], [1, 1]", "[True, False]"),
    "logaddexp": ("logaddexp", "[1000.0], [1000.0]", "[1000.6931762695312]"),
    "logical_and": ("logical_and", "[True, True], [True, False]", "[True, False]"),
    "logical_or": ("logical_or", "[True, False], [False, False]", "[True, False]"),
    "logical_xor": ("logical_xor", "[True, True], [True, False]", "[False, True]"),
    "maximum": ("maximum", "[1.0, 5.0], [3.0, 2.0]", "[3.0, 5.0]"),
    "minimum": ("minimum", "[1.0, 5.0], [3.0, 2.0]", "[1.0, 2.0]"),
    "multiply": ("multiply", "[1, 2], [3, 4]", "[3, 8]"),
    "not_equal": ("not_equal", "[1, 2], [1, 3]", "[False, True]"),
    "pow": ("pow", "[2, 3], [3, 2]", "[8, 9]"),
    "remainder": ("remainder", "[7, -7], [3, 3]", "[1, 2]"),
    "subtract": ("subtract", "[5, 6], [3, 4]", "[2, 2]"),
}

__all__ = sorted([
    *_UNARY, *_BINARY, "clip", "expm1", "log10", "log1p", "log2", "positive", "round", "sign",
])  # fmt: skip


def _of_one(op):
    call = getattr(_C.ops, op)

    def function(x, /):
        return call(x)

    return function


def _of_two(op):
    call = getattr(_C.ops, op)

    def function(x1, x2, /):
        return call(x1, x2)

    return function


def _add(make, table):
    for name, (op, arguments, result) in table.items():
        function = make(op)
        function.__name__ = function.__qualname__ = name
        tensors = re.sub(r"\[[^]]*\]", r"proa.to_tensor(\g<0>)", arguments)
        function.__doc__ = f"""{getattr(_C.ops, op).__doc__}

    Examples:
        >>> proa.array_api.{name}({tensors}).tolist()
        {result}
    """
        globals()[name] = function


_add(_of_one, _UNARY)
_add(_of_two, _BINARY)


def _complex(re, im):
    return _C.ops.complex(re, im)


def _parts(x):
    return _C.ops.real(x), _C.ops.imag(x)


def clip(x, /, min=None, max=None):  # noqa: A002
    """x limited to [min, max], which may be numbers or tensors that broadcast to x, or None; of the dtype of x.

    Examples:
        >>> proa.array_api.clip(proa.to_tensor([1, 5, 9]), proa.to_tensor([2, 2, 2]), 7).tolist()
        [2, 5, 7]
    """
    for bound, limited in ((min, _C.ops.maximum), (max, _C.ops.minimum)):
        if bound is not None:
            bound = bound if isinstance(bound, _C.Tensor) else _C.ops.full([], bound, x.dtype)
            x = limited(x, bound.astype(x.dtype))
    return x if min is not None or max is not None else _C.ops.assign(x)


def expm1(x, /):
    """exp(x) - 1, precise near 0.

    Examples:
        >>> proa.array_api.expm1(proa.to_tensor([0.0])).tolist()
        [0.0]
    """
    if not x.is_complex():
        return _C.ops.expm1(x)
    re, im = _parts(x)
    half = _C.ops.sin(im * 0.5)
    return _complex(_C.ops.expm1(re) * _C.ops.cos(im) - 2 * half * half, _C.ops.exp(re) * _C.ops.sin(im))


def _scaled_log(x, base):
    re, im = _parts(_C.ops.log(x))
    factor = 1 / math.log(base)
    return _complex(re * factor, im * factor)


def log10(x, /):
    """Logarithm to base 10.

    Examples:
        >>> proa.array_api.log10(proa.to_tensor([100.0])).tolist()
        [2.0]
    """
    return _scaled_log(x, 10) if x.is_complex() else _C.ops.log10(x)


def log1p(x, /):
    """log(1 + x), precise near 0.

    Examples:
        >>> proa.array_api.log1p(proa.to_tensor([0.0])).tolist()
        [0.0]
    """
    if not x.is_complex():
        return _C.ops.log1p(x)
    re, im = _parts(x)
    near = 0.5 * _C.ops.log1p(re * (2 + re) + im * im)
    far = _C.ops.real(_C.ops.log(1 + x))
    close = _C.ops.abs(x) < 0.5
    return _complex(_C.ops.where(close, near, far), _C.ops.atan2(im, 1 + re))


def log2(x, /):
    """Logarithm to base 2.

    Examples:
        >>> proa.array_api.log2(proa.to_tensor([8.0])).tolist()
        [3.0]
    """
    return _scaled_log(x, 2) if x.is_complex() else _C.ops.log2(x)


def positive(x, /):
    """A copy of x.

    Examples:
        >>> proa.array_api.positive(proa.to_tensor([-1])).tolist()
        [-1]
    """
    return _C.ops.assign(x)


def round(x, /):  # noqa: A001
    """The nearest whole number, of ties the even one; of complex numbers part by part.

    Examples:
        >>> proa.array_api.round(proa.to_tensor([0.5, 1.5])).tolist()
        [0.0, 2.0]
    """
    if x.is_complex():
        return _complex(*(_C.ops.round(part) for part in _parts(x)))
    return _C.ops.round(x)


def sign(x, /):
    """-1, 0 or 1; of complex numbers x / abs(x), and 0.

    Examples:
        >>> proa.array_api.sign(proa.to_tensor([-2, 0, 5])).tolist()
        [-1, 0, 1]
    """
    if not x.is_complex():
        return _C.ops.sign(x)
    size = _C.ops.abs(x)
    return x / _C.ops.where(size == 0, _C.ops.full_like(size, 1), size)
