"""Signs, infinities and other functions of numbers: names of releases after 2.3."""

import math

from proa import _C
from proa.framework.dtype import get_default_dtype, iinfo
from proa.tensor.method import method as _method
from proa.tensor.placing import of_one_dim
from proa.tensor.precision import keeps_types, narrowed, widened

__all__ = [
    "bucketize",
    "gammaln",
    "isin",
    "isneginf",
    "isposinf",
    "isreal",
    "ldexp",
    "less",
    "polar",
    "positive",
    "sinc",
]


def scaled(x, scale, bias=0.0, bias_after_scale=True):
    """scale * x + bias, or scale * (x + bias), of a number or a tensor of one element, which may have its value later."""
    if isinstance(scale, _C.Tensor):
        whole = not (x.is_floating_point() or x.is_complex())
        fraction = scale.is_floating_point() or scale.is_complex()
        # As the op does it: on integers a fraction is applied in float64, and cut off.
        factor = _C.ops.cast(_C.ops.reshape(scale, []), _C.float64 if whole and fraction else x.dtype)
        out = x * factor + bias if bias_after_scale else (x + bias) * factor
        return _C.ops.cast(out, x.dtype) if whole else out
    return _C.ops.scale(x, scale, bias, bias_after_scale)


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
@keeps_types
def sinc(x, name=None):
    """sin(pi x) / (pi x), which is 1 at 0.

    Examples:
        >>> proa.sinc(proa.to_tensor([0.0, 1.5])).tolist()[0]
        1.0
    """
    x = _C.tensor_argument(x, "sinc", "x")
    real_only("sinc", x)
    given = floats(x)
    x = widened(given) * math.pi
    # Near 0 the series, which has derivatives there.
    near = _C.ops.abs(x) < 1e-2
    inside = _C.ops.where(near, x, _C.ops.full_like(x, 0))  # far away its gradient would be 0 times infinity
    square = inside * inside
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42))
    safe = _C.ops.where(near, _C.ops.full_like(x, 1), x)
    return narrowed(_C.ops.where(near, series, _C.ops.sin(safe) / safe), given)


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
