"""Signs, infinities and other functions of numbers: names of releases after 2.3."""

import math

from proa import _C
from proa.framework.dtype import get_default_dtype, iinfo
from proa.tensor.method import method as _method
from proa.tensor.placing import of_one_dim

__all__ = [
    "bucketize",
    "copysign",
    "gammaln",
    "heaviside",
    "hypot",
    "isin",
    "isneginf",
    "isposinf",
    "isreal",
    "ldexp",
    "less",
    "logaddexp",
    "polar",
    "positive",
    "signbit",
    "sinc",
]


def floats(x):
    """x as floating numbers: integers and bools become those of the default type."""
    return x if x.is_floating_point() or x.is_complex() else x.astype(get_default_dtype())


def _beside(number, given):
    """A number as a tensor that goes with another one: of its dtype, where that holds the number."""
    if not isinstance(number, (int, float)) or not isinstance(given, _C.Tensor):
        return number
    dtype, floating = given.dtype, given.is_floating_point() or given.is_complex()
    if isinstance(number, float):
        return _C.ops.full([], number, dtype if floating else get_default_dtype())
    # Integers that the dtype has not would become others.
    if not floating and isinstance(number, int) and (dtype == _C.bool or not _holds(dtype, number)):
        dtype = "int64"
    return _C.ops.full([], number, dtype)


def _holds(dtype, number):
    range_of = iinfo(dtype)
    return range_of.min <= number <= range_of.max


def pair(op, x, y, names=("x", "y")):
    """Two tensors, of which one may be a number, of one type."""
    x, y = _beside(x, y), _beside(y, x)
    x, y = _C.tensor_argument(x, op, names[0]), _C.tensor_argument(y, op, names[1])
    nothing = _C.ops.full([], 0, x.dtype) * _C.ops.full([], 0, y.dtype)
    return x.astype(nothing.dtype), y.astype(nothing.dtype)


def real_only(op, *tensors):
    """Raises for complex tensors, which have no order; `op` is who asks."""
    for t in tensors:
        if t.is_complex():
            raise _C.located(TypeError(f"{op}: complex numbers have no order; one argument is {t.dtype.name}"))


@_method
def signbit(x, name=None):
    """Whether an element is below zero or -0; False for NaN.

    Examples:
        >>> proa.signbit(proa.to_tensor([-0.0, 0.0, -3.0])).tolist()
        [True, False, True]
    """
    x = _C.tensor_argument(x, "signbit", "x")
    real_only("signbit", x)
    negative = x < 0
    if not x.is_floating_point():
        return negative
    return _C.ops.logical_or(negative, _C.ops.logical_and(x == 0, 1 / x < 0))


@_method
def copysign(x, y, name=None):
    """The size of x with the sign of y; that of a NaN counts as positive.

    Examples:
        >>> proa.copysign(proa.to_tensor([1.0, 2.0]), proa.to_tensor([-0.0, 3.0])).tolist()
        [-1.0, 2.0]
    """
    x, y = pair("copysign", x, y)
    real_only("copysign", x)
    size = _C.ops.abs(floats(x))
    return _C.ops.where(signbit(y), -size, size)


@_method
def hypot(x, y, name=None):
    """sqrt(x**2 + y**2), without overflow on the way.

    Examples:
        >>> proa.hypot(proa.to_tensor([3.0, 3e30]), proa.to_tensor([4.0, 0.0])).tolist()[0]
        5.0
    """
    x, y = pair("hypot", x, y)
    real_only("hypot", x)
    x, y = _C.ops.abs(floats(x)), _C.ops.abs(floats(y))
    large, small = _by_size(x, y)
    ratio = small / _C.ops.where(large == 0, _C.ops.full_like(large, 1), large)
    infinite = _C.ops.logical_or(_C.ops.isinf(x), _C.ops.isinf(y))
    value = large * _C.ops.sqrt(1 + ratio * ratio)
    return _C.ops.where(infinite, _C.ops.full_like(value, math.inf), value)


@_method
def logaddexp(x, y, name=None):
    """log(exp(x) + exp(y)), without overflow on the way.

    Examples:
        >>> proa.logaddexp(proa.to_tensor([1000.0]), proa.to_tensor([1000.0])).tolist()
        [1000.6931762695312]
    """
    x, y = pair("logaddexp", x, y)
    real_only("logaddexp", x)
    return log_add(floats(x), floats(y))


def log_add(x, y):
    """log(exp(x) + exp(y)) without overflow."""
    large, small = _by_size(x, y)
    # Infinities that are equal cannot be subtracted from each other.
    equal = _C.ops.logical_and(large == small, _C.ops.isinf(large))
    nothing = _C.ops.full([], 0, x.dtype)
    apart = _C.ops.where(equal, nothing, large) - _C.ops.where(equal, nothing, small)
    return large + _C.ops.log1p(_C.ops.exp(-apart))


def _by_size(x, y):
    """The larger and the smaller ones, of which, unlike those of `maximum` and `minimum`, the gradients of equal ones go to
    different operands: what is made of both has those that it has beside them. One is NaN where either is."""
    first = x >= y
    return _C.ops.where(first, x, y), _C.ops.where(first, y, x)


@_method
def heaviside(x, y, name=None):
    """0 where x is negative or NaN, y where it is 0, 1 where it is positive.

    Examples:
        >>> proa.heaviside(proa.to_tensor([-1.0, 0.0, 2.0]), proa.to_tensor(0.5)).tolist()
        [0.0, 0.5, 1.0]
    """
    x, y = pair("heaviside", x, y)
    real_only("heaviside", x)
    return _C.ops.where(x == 0, y, (x > 0).astype(x.dtype))


@_method
def ldexp(x, y, name=None):
    """x times 2**y.

    Examples:
        >>> proa.ldexp(proa.to_tensor([1.0, 3.0]), proa.to_tensor([2, -1])).tolist()
        [4.0, 1.5]
    """
    x, y = _C.tensor_argument(x, "ldexp", "x"), _C.tensor_argument(y, "ldexp", "y")
    real_only("ldexp", y)
    x, y = floats(x), floats(y)
    double = _C.float64 in (x.dtype, y.dtype) or x.dtype == _C.complex128
    y = y.astype("float64" if double else "float32")
    # No number is further from 0 or from infinity. In four steps, since 2**y alone may be too large, or too small.
    y = _C.ops.clip(y, -2200, 2200) if double else _C.ops.clip(y, -300, 300)
    quarter, two = _C.ops.floor(y * 0.25), _C.ops.full_like(y, 2)
    each = _C.ops.pow(two, quarter)
    made = x * each * each * each * _C.ops.pow(two, y - 3 * quarter)
    return made.astype(x.dtype) if x.dtype in (_C.float16, _C.bfloat16) and not double else made


@_method
def sinc(x, name=None):
    """sin(pi x) / (pi x), which is 1 at 0.

    Examples:
        >>> proa.sinc(proa.to_tensor([0.0, 1.5])).tolist()[0]
        1.0
    """
    x = _C.tensor_argument(x, "sinc", "x")
    real_only("sinc", x)
    x = floats(x) * math.pi
    # Near 0 the series, which has derivatives there.
    near = _C.ops.abs(x) < 1e-2
    inside = _C.ops.where(near, x, _C.ops.full_like(x, 0))  # far away its gradient would be 0 times infinity
    square = inside * inside
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42))
    safe = _C.ops.where(near, _C.ops.full_like(x, 1), x)
    return _C.ops.where(near, series, _C.ops.sin(safe) / safe)


@_method
def gammaln(x, name=None):
    """lgamma by its later name.

    Examples:
        >>> proa.gammaln(proa.to_tensor([1.0, 2.0])).tolist()
        [0.0, 0.0]
    """
    return _C.ops.lgamma(floats(_C.tensor_argument(x, "gammaln", "x")))


@_method
def isposinf(x, name=None):
    """Whether an element is infinity.

    Examples:
        >>> proa.isposinf(proa.to_tensor([1.0, float("inf"), -float("inf")])).tolist()
        [False, True, False]
    """
    x = _C.tensor_argument(x, "isposinf", "x")
    real_only("isposinf", x)
    return _C.ops.logical_and(_C.ops.isinf(x), x > 0)


@_method
def isneginf(x, name=None):
    """Whether an element is -infinity.

    Examples:
        >>> proa.isneginf(proa.to_tensor([1.0, float("inf"), -float("inf")])).tolist()
        [False, False, True]
    """
    x = _C.tensor_argument(x, "isneginf", "x")
    real_only("isneginf", x)
    return _C.ops.logical_and(_C.ops.isinf(x), x < 0)


@_method
def isreal(x, name=None):
    """Whether the imaginary part of an element is 0.

    Examples:
        >>> proa.isreal(proa.to_tensor([1 + 0j, 1j])).tolist()
        [True, False]
    """
    x = _C.tensor_argument(x, "isreal", "x")
    return _C.ops.imag(x) == 0 if x.is_complex() else _C.ops.full_like(x, True, "bool")


@_method
def less(x, y, name=None):
    """less_than by its other name.

    Examples:
        >>> proa.less(proa.to_tensor([1, 2]), proa.to_tensor([2, 2])).tolist()
        [True, False]
    """
    return _C.ops.less_than(x, y)


def positive(x, name=None):
    """A copy of numbers.

    Examples:
        >>> proa.positive(proa.to_tensor([-1, 2])).tolist()
        [-1, 2]
    """
    x = _C.tensor_argument(x, "positive", "x")
    if x.dtype == _C.bool:
        raise _C.located(TypeError(f"positive: x must be numbers; it is {list(x.shape)} bool"))
    return _C.ops.assign(x)


@_method
def polar(abs, angle, name=None):
    """Complex numbers of sizes and angles.

    Examples:
        >>> proa.polar(proa.to_tensor([2.0]), proa.to_tensor([0.0])).tolist()
        [(2+0j)]
    """
    size, angle = _C.tensor_argument(abs, "polar", "abs"), _C.tensor_argument(angle, "polar", "angle")
    return _C.ops.complex(size * _C.ops.cos(angle), size * _C.ops.sin(angle))


@_method
def isin(x, test_x, assume_unique=False, invert=False, name=None):
    """Whether an element of x is one of test_x; NaN is none.

    Args:
        x (Tensor): of any shape, not complex.
        test_x (Tensor): of any shape.
        assume_unique (bool): makes no difference.
        invert (bool): whether it is none of them.

    Returns:
        Tensor: bool, of the shape of x.

    Examples:
        >>> proa.isin(proa.to_tensor([1, 2, 3]), proa.to_tensor([3, 1])).tolist()
        [True, False, True]
    """
    x, test = pair("isin", x, test_x, ("x", "test_x"))
    real_only("isin", x)
    if x.dtype == _C.bool:
        x, test = x.astype("int32"), test.astype("int32")
    test = _C.ops.reshape(test, [-1])
    order, _ = _C.ops.sort(test, 0)
    wide = order if order.dtype not in (_C.float16, _C.bfloat16) else order.astype("float32")
    at = _C.ops.searchsorted(wide, x.astype(wide.dtype))
    # Behind all of them one stands that is none.
    order = _C.ops.concat([order, _C.ops.full([1], 0, order.dtype)], 0)
    found = _C.ops.logical_and(_C.ops.index_get(order, [at], [0]) == x, at < _C.ops.numel(test).astype(at.dtype))
    return _C.ops.logical_not(found) if invert else found


@_method
def bucketize(x, sorted_sequence, out_int32=False, right=False, name=None):
    """Where each element of x would be inserted to keep a sequence in order.

    Args:
        x (Tensor): of any shape.
        sorted_sequence (Tensor): [N], in rising order.
        out_int32 (bool): int32 in place of int64.
        right (bool): behind equal elements, not before.

    Examples:
        >>> proa.bucketize(proa.to_tensor([[1, 4]]), proa.to_tensor([1, 3, 5])).tolist()
        [[0, 2]]
    """
    x = _C.tensor_argument(x, "bucketize", "x")
    edges = of_one_dim(
        "bucketize", "sorted_sequence", _C.tensor_argument(sorted_sequence, "bucketize", "sorted_sequence")
    )
    return _C.ops.searchsorted(edges, x, out_int32, right)
