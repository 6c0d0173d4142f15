"""Sums, products, angles and other math that is more than one op."""

import math

from proa import _C
from proa.framework.attributes import is_late, known_int, known_real, number, real
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require_sizes
from proa.tensor.attribute import optional_tensor, tensor_list
from proa.tensor.elementary import scaled
from proa.tensor.logic import into
from proa.tensor.manipulation import known_axis_of
from proa.tensor.method import method as _method
from proa.tensor.precision import keeps_types, narrowed, widened

__all__ = [
    "add_n",
    "clip_",
    "conj",
    "deg2rad",
    "diff",
    "floor_mod",
    "gcd",
    "increment",
    "kron",
    "lcm",
    "logit",
    "mod",
    "multiplex",
    "nan_to_num",
    "rad2deg",
    "renorm",
    "scale",
    "trace",
]


@_method
def add_n(inputs, name=None):
    """The sum of a tensor or of several of one shape.

    Examples:
        >>> proa.add_n([proa.ones([2]), proa.ones([2])]).tolist()
        [2.0, 2.0]
    """
    if isinstance(inputs, _C.Tensor):
        return _C.ops.assign(inputs)
    inputs = tensor_list(inputs, "add_n", "inputs")
    if not inputs:
        raise _C.located(ValueError("add_n: at least one tensor is needed"))
    total = inputs[0]
    for x in inputs[1:]:
        if len(x.shape) != len(total.shape):
            raise _C.located(ValueError(f"add_n: shapes differ; one is {list(total.shape)}, another {list(x.shape)}"))
        x = require_sizes(x, x.shape, total.shape, "add_n: shapes differ; one is {}, another {}", total, x)
        total = _C.ops.add(total, x)
    return _C.ops.assign(total) if len(inputs) == 1 else total


@_method
def conj(x, name=None):
    """The complex conjugate; of a tensor that is not complex a copy.

    Examples:
        >>> proa.conj(proa.to_tensor([1 + 2j])).tolist()
        [(1-2j)]
    """
    x = _C.tensor_argument(x, "conj", "x")
    return _C.ops.conj(x) if x.is_complex() else _C.ops.assign(x)


@_method
def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """scale * x + bias, or scale * (x + bias); `act` names an activation of the result.

    Examples:
        >>> proa.scale(proa.to_tensor([1.0, 2.0]), 2.0, 1.0).tolist()
        [3.0, 5.0]
    """
    out = scaled(x, scale, bias, bias_after_scale)
    if act is None:
        return out
    from proa.nn.layer.activation import function_of

    return function_of("scale", "act", act)(out)


def _whole(limit):
    """A limit of integers that stay what they are: without its fraction."""
    if isinstance(limit, float):
        limit = _C.ops.full([], limit, _C.float64)
    fraction = isinstance(limit, _C.Tensor) and limit.is_floating_point()
    return _C.ops.cast(limit, _C.int64) if fraction else limit


@_method
def clip_(x, min=None, max=None, name=None):
    """x between min and max, in place. Integers stay what they are: limits lose their fraction.

    Args:
        x (Tensor): is changed, and returned.
        min, max (float|int|Tensor, optional): None does not limit.

    Examples:
        >>> proa.clip_(proa.to_tensor([1, 2, 3]), 0.5, 2.5).tolist()
        [1, 2, 2]
    """
    x = _C.tensor_argument(x, "clip_", "x")
    if x.is_integer():
        min, max = _whole(min), _whole(max)
    return _C.ops.clip_(x, min, max)


@_method
def increment(x, value=1.0, name=None):
    """Adds a number to a tensor in place, and returns it.

    Examples:
        >>> proa.increment(proa.zeros([1]), 2.0).tolist()
        [2.0]
    """
    x = _C.tensor_argument(x, "increment", "x")
    return x.add_(_C.ops.full_like(x, real("increment", "value", value)))


@_method
def mod(x, y, name=None):
    """The remainder of x / y, with the sign of y.

    Examples:
        >>> proa.mod(proa.to_tensor([-3, 3]), proa.to_tensor([2, 2])).tolist()
        [1, 1]
    """
    return _C.ops.remainder(x, y)


@_method
def floor_mod(x, y, name=None):
    """mod under another name.

    Examples:
        >>> proa.floor_mod(proa.to_tensor([-3, 3]), proa.to_tensor([2, 2])).tolist()
        [1, 1]
    """
    return mod(x, y)


@_method
@keeps_types
def logit(x, eps=None, name=None):
    """log(x / (1 - x)); with eps, x is first kept in [eps, 1 - eps].

    Examples:
        >>> proa.logit(proa.to_tensor([0.5])).tolist()
        [0.0]
    """
    x = _C.tensor_argument(x, "logit", "x")
    if eps is not None:
        eps = real("logit", "eps", eps)
        # Integers first become numbers between which eps is one.
        x = x if x.is_floating_point() or x.is_complex() else x.astype(_C.get_default_dtype())
        # Of 0.99 rounded to 16 bits the result would have two right digits.
        return narrowed(_C.ops.logit(_C.ops.clip(widened(x), eps, 1.0 - eps)), x)
    return _C.ops.logit(x)


def _floating(x, op):
    if x.is_complex():
        raise _C.located(TypeError(f"{op}: x is {x.dtype.name}; an angle is a real number"))
    return x if x.is_floating_point() else x.astype(_C.get_default_dtype())


@_method
def deg2rad(x, name=None):
    """Degrees to radians. Of integers the result has the default dtype.

    Raises:
        TypeError: x is complex.

    Examples:
        >>> round(proa.deg2rad(proa.to_tensor(180.0)).item(), 4)
        3.1416
    """
    x = _C.tensor_argument(x, "deg2rad", "x")
    return _floating(x, "deg2rad") * (math.pi / 180.0)


@_method
def rad2deg(x, name=None):
    """Radians to degrees. Of integers the result has the default dtype.

    Raises:
        TypeError: x is complex.

    Examples:
        >>> round(proa.rad2deg(proa.to_tensor(3.14159265)).item(), 3)
        180.0
    """
    x = _C.tensor_argument(x, "rad2deg", "x")
    return _floating(x, "rad2deg") * (180.0 / math.pi)


@_method
def trace(x, offset=0, axis1=0, axis2=1, name=None):
    """The sum of a diagonal of the plane of two axes.

    Examples:
        >>> proa.trace(proa.to_tensor([[1, 2], [3, 4]])).item()
        5
    """
    x = _C.tensor_argument(x, "trace", "x")
    # (int32 stays what it is, as in products; a sum gives int64.)
    kept = _C.int32 if x.dtype == _C.int32 else None
    return _C.ops.sum(_C.ops.diagonal(x, offset, axis1, axis2), [-1], kept)


# Differences of differences that a program of open sizes may hold.
_MOST_RECORDED = 1000


@_method
def diff(x, n=1, axis=-1, prepend=None, append=None, name=None):
    """Differences of neighbours along an axis, n times.

    Args:
        x (Tensor): any shape but 0-d.
        n (int): how often.
        axis (int): along which.
        prepend, append (Tensor, optional): put before and after x first.

    Examples:
        >>> proa.diff(proa.to_tensor([1, 4, 9])).tolist()
        [3, 5]
    """
    x = _C.tensor_argument(x, "diff", "x")
    prepend, append = optional_tensor(prepend, "diff", "prepend"), optional_tensor(append, "diff", "append")
    n = known_int("diff", "n", n)
    if n < 0:
        raise _C.located(ValueError(f"diff: n must not be negative; it is {n}"))
    axis = known_axis_of("diff", axis, x)
    parts = [part for part in (prepend, x, append) if part is not None]
    out = parts[0] if len(parts) == 1 else _C.ops.concat(parts, axis)
    # There is nothing left to take differences of after as many as there are elements.
    size = out.shape[axis]
    if size < 0 and n > _MOST_RECORDED:
        raise _C.located(
            ValueError(f"diff: n is {n}; of a size that is not known at most {_MOST_RECORDED} are recorded")
        )
    for _ in range(n if size < 0 else min(n, size)):
        # Ends that hold for any size, known or not.
        later = _C.ops.slice(out, [axis], [1], [2**63 - 1])
        earlier = _C.ops.slice(out, [axis], [0], [-1])
        out = _C.ops.logical_xor(later, earlier) if out.dtype == _C.bool else later - earlier
    return out


@_method
def kron(x, y, out=None, name=None):
    """The Kronecker product: every element of x times all of y; written into `out` if that is given.

    Examples:
        >>> proa.kron(proa.to_tensor([1, 2]), proa.to_tensor([1, 10])).tolist()
        [1, 10, 2, 20]
    """
    x = _C.tensor_argument(x, "kron", "x")
    y = _C.tensor_argument(y, "kron", "y")
    rank = max(len(x.shape), len(y.shape))
    a, b = [1] * (rank - len(x.shape)) + list(x.shape), [1] * (rank - len(y.shape)) + list(y.shape)
    left = _C.ops.reshape(x, [d for size in a for d in (size, 1)])
    right = _C.ops.reshape(y, [d for size in b for d in (1, size)])
    return into(_C.ops.reshape(left * right, [p * q for p, q in zip(a, b)]), out, "kron")


def _integers(op, *tensors):
    for x in tensors:
        if not x.is_integer():
            raise _C.located(TypeError(f"{op}: integers are needed; one argument is {list(x.shape)} {x.dtype.name}"))


@_method
def gcd(x, y, name=None):
    """Greatest common divisors, not negative; with broadcasting. gcd(x, 0) is |x|.

    Examples:
        >>> proa.gcd(proa.to_tensor([12]), proa.to_tensor([18])).tolist()
        [6]
    """
    x = _C.tensor_argument(x, "gcd", "x")
    y = _C.tensor_argument(y, "gcd", "y")
    _integers("gcd", x, y)
    a, b = (x + _C.ops.full_like(y, 0)).abs(), (y + _C.ops.full_like(x, 0)).abs()

    def step(a, b):
        running = b != 0
        rest = _C.ops.remainder(a, _C.ops.where(running, b, _C.ops.full_like(b, 1)))
        return [_C.ops.where(running, b, a), _C.ops.where(running, rest, b)]

    # Euclid's algorithm for all elements at once, until the last one is done.
    return _C.while_loop(lambda a, b: (b != 0).any(), step, [a, b])[0]


@_method
def lcm(x, y, name=None):
    """Least common multiples, not negative; with broadcasting. lcm(x, 0) is 0.

    Examples:
        >>> proa.lcm(proa.to_tensor([4]), proa.to_tensor([6])).tolist()
        [12]
    """
    x = _C.tensor_argument(x, "lcm", "x")
    y = _C.tensor_argument(y, "lcm", "y")
    divisor = gcd(x, y)
    safe = _C.ops.where(divisor == 0, _C.ops.full_like(divisor, 1), divisor)
    return _C.ops.floor_divide(x, safe).abs() * y.abs()


@_method
def multiplex(inputs, index, name=None):
    """Row i of the tensor that index[i] names, for each i.

    Args:
        inputs (list[Tensor]): of one shape, [N, ...].
        index (Tensor): integers, [N, 1] or [N].

    Examples:
        >>> proa.multiplex([proa.to_tensor([[1], [2]]), proa.to_tensor([[3], [4]])], proa.to_tensor([[1], [0]], dtype="int32")).tolist()
        [[3], [2]]
    """
    rows = _C.ops.stack(tensor_list(inputs, "multiplex", "inputs"), 0)
    index = _C.tensor_argument(index, "multiplex", "index")
    index = _C.ops.reshape(index, [-1]).astype("int64")
    count = _C.ops.arange(0, index.shape[0], 1, _C.int64)
    return _C.ops.gather_nd(rows, _C.ops.stack([index, count], 1))


@_method
def renorm(x, p, axis, max_norm):
    """x with every slice along `axis` scaled to a p-norm of at most max_norm.

    Examples:
        >>> np.round(proa.renorm(proa.to_tensor([[3.0, 4.0], [0.0, 1.0]]), p=2.0, axis=0, max_norm=1.0).astype("float64").numpy(), 1).tolist()
        [[0.6, 0.8], [0.0, 1.0]]
    """
    x = _C.tensor_argument(x, "renorm", "x")
    from proa.tensor.linalg import norm

    axis, p, max_norm = known_axis_of("renorm", axis, x), number(p), real("renorm", "max_norm", max_norm)
    others = [i for i in range(len(x.shape)) if i != axis]
    flat = _C.ops.reshape(_C.ops.transpose(x, [axis, *others]), [x.shape[axis], -1])
    length = norm(flat, p if is_late(p) else float(known_real("renorm", "p", p)), 1)
    # An infinite factor of which nothing is taken would still have a gradient: NaN.
    largest = 0.0 if not is_late(max_norm) and max_norm == math.inf else max_norm
    factor = _C.ops.where(length > max_norm, largest / (length + 1e-7), _C.ops.full_like(length, 1.0))
    shape = [1] * len(x.shape)
    shape[axis] = -1
    return x * _C.ops.reshape(factor, shape)


@_method
def nan_to_num(x, nan=0.0, posinf=None, neginf=None, name=None):
    """x with NaN and the infinities replaced.

    Args:
        x (Tensor): floating point, or of integers (which have none).
        nan (float): for NaN.
        posinf, neginf (float, optional): for the infinities; the largest and smallest number of the dtype unless given.

    Examples:
        >>> proa.nan_to_num(proa.to_tensor([float("nan"), 1.0, float("inf")]), posinf=9.0).tolist()
        [0.0, 1.0, 9.0]
    """
    x = _C.tensor_argument(x, "nan_to_num", "x")
    if not x.dtype.is_floating_point:
        return x
    from proa.framework.dtype import finfo

    limits = finfo(x.dtype)
    high = float(limits.max) if posinf is None else real("nan_to_num", "posinf", posinf)
    low = float(limits.min) if neginf is None else real("nan_to_num", "neginf", neginf)
    nan = real("nan_to_num", "nan", nan)
    infinite, negative = _C.ops.isinf(x), _C.ops.less_than(x, 0.0)
    replaced = _C.ops.where(negative, _C.ops.full_like(x, low), _C.ops.full_like(x, high))
    result = _C.ops.where(infinite, replaced, x)
    return _C.ops.where(_C.ops.isnan(x), _C.ops.full_like(x, nan), result)


__getattr__ = _borrow(__name__, "proa")
