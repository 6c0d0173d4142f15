"""New tensors from shapes, values and Python data."""

from proa import _C
from proa.framework.attributes import known_int, wrong
from proa.framework.dtype import as_dtype
from proa.framework.names import borrow as _borrow
from proa.tensor.attribute import tensor_or_number

__all__ = [
    "arange",
    "assign",
    "clone",
    "diagflat",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "to_tensor",
    "zeros",
    "zeros_like",
]

to_tensor = _C.to_tensor


def _scalar(op, name, value):
    """A number, or the element of a one-element tensor."""
    if isinstance(value, _C.Tensor):
        if value.size != 1:
            raise _C.located(
                ValueError(f"{op}: {name} must have one element; it is {list(value.shape)} {value.dtype.name}")
            )
        return value.item()
    if isinstance(value, str):  # "inf", "-inf", "nan", "1.5"
        try:
            return float(value)
        except ValueError:
            raise _C.located(ValueError(f"{op}: {name} must be a number or the text of one, not {value!r}")) from None
    return value


def _unread(value):
    """A 0-d tensor for a number that only the run of a program knows, a tensor or an open size; None for others."""
    if isinstance(value, _C.Tensor):
        return None if value.size != 1 or _C.take_elements(value) else _C.ops.reshape(value, [])
    tensor = getattr(value, "tensor", None)  # of a Size
    return tensor() if tensor is not None and not isinstance(value, (int, float, complex, str)) else None


def _filled(shape, value, dtype):
    """A tensor of the shape that holds the element of a 0-d tensor."""
    value = value if dtype is None else _C.ops.cast(value, dtype)
    return _C.ops.where(_C.ops.full(shape, True, _C.bool), value, value)


def full(shape, fill_value, dtype=None, name=None):
    """A tensor filled with a value.

    Args:
        shape (list[int|Tensor]|Tensor): sizes.
        fill_value (bool|int|float|str|Tensor): the value; "-inf" and the like stand for what they say.
        dtype (str, optional): the default floating point type unless given.

    Examples:
        >>> proa.full([2], 7.0).tolist()
        [7.0, 7.0]
    """
    unread = _unread(fill_value)
    if unread is not None:
        return _filled(shape, unread, as_dtype(dtype) or _C.get_default_dtype())
    value = _scalar("full", "fill_value", fill_value)
    if dtype is None and not isinstance(value, complex):
        dtype = _C.get_default_dtype()
    return _C.ops.full(shape, value, as_dtype(dtype))


def zeros(shape, dtype=None, name=None):
    """A tensor of zeros, of the default floating point type unless another is given.

    Examples:
        >>> proa.zeros([2, 2]).tolist()
        [[0.0, 0.0], [0.0, 0.0]]
    """
    return _C.ops.full(shape, 0, as_dtype(dtype) or _C.get_default_dtype())


def ones(shape, dtype=None, name=None):
    """A tensor of ones, of the default floating point type unless another is given.

    Examples:
        >>> proa.ones([2], dtype="int64").tolist()
        [1, 1]
    """
    return _C.ops.full(shape, 1, as_dtype(dtype) or _C.get_default_dtype())


def empty(shape, dtype=None, name=None):
    """A tensor whose elements are not to be relied on (they are zeros).

    Examples:
        >>> proa.empty([2, 3]).shape
        [2, 3]
    """
    return _C.ops.full(shape, 0, as_dtype(dtype) or _C.get_default_dtype())


def full_like(x, fill_value, dtype=None, name=None):
    """A tensor of the shape (and dtype, unless given) of x, filled with a value.

    Examples:
        >>> proa.full_like(proa.ones([2]), 7).tolist()
        [7.0, 7.0]
    """
    unread = _unread(fill_value)
    if unread is not None:
        return _filled(x.shape, unread, as_dtype(dtype) or x.dtype)
    return _C.ops.full_like(x, _scalar("full_like", "fill_value", fill_value), as_dtype(dtype))


def zeros_like(x, dtype=None, name=None):
    """Zeros in the shape (and dtype, unless given) of x.

    Examples:
        >>> proa.zeros_like(proa.ones([2])).tolist()
        [0.0, 0.0]
    """
    return _C.ops.full_like(x, 0, as_dtype(dtype))


def ones_like(x, dtype=None, name=None):
    """Ones in the shape (and dtype, unless given) of x.

    Examples:
        >>> proa.ones_like(proa.zeros([2])).tolist()
        [1.0, 1.0]
    """
    return _C.ops.full_like(x, 1, as_dtype(dtype))


def empty_like(x, dtype=None, name=None):
    """A tensor of the shape (and dtype, unless given) of x whose elements are not to be relied on.

    Examples:
        >>> proa.empty_like(proa.ones([2, 3])).shape
        [2, 3]
    """
    return _C.ops.full_like(x, 0, as_dtype(dtype))


def arange(start=0, end=None, step=1, dtype=None, name=None):
    """start, start + step and so on, below end (above, for a negative step).

    Args:
        start (int|float|Tensor): the first; with `end` None it is the end, and 0 the first.
        end (int|float|Tensor, optional): not among the numbers.
        step (int|float|Tensor): not 0.
        dtype (str, optional): int64 if all three are integers, else the default floating point type.

    Examples:
        >>> proa.arange(1, 7, 2).tolist()
        [1, 3, 5]
    """
    if end is None:
        start, end = 0, start
    given = start, end, step
    if any(_unread(v) is not None for v in given):
        return _arange_of_run(*given, as_dtype(dtype))
    start, end, step = (_scalar("arange", what, v) for what, v in zip(("start", "end", "step"), given))
    if dtype is None:
        for value, number in zip(given, (start, end, step)):
            if isinstance(number, float):
                dtype = value.dtype if isinstance(value, _C.Tensor) else _C.get_default_dtype()
        dtype = dtype or _C.int64
    return _C.ops.arange(start, end, step, as_dtype(dtype))


def _arange_of_run(start, end, step, dtype):
    """arange whose numbers only the run of a program knows."""
    given = start, end, step
    tensors = [
        unread if (unread := _unread(v)) is not None else _C.to_tensor(_scalar("arange", "an argument", v))
        for v in given
    ]
    floating = [
        v.dtype if isinstance(v, _C.Tensor) else _C.get_default_dtype()
        for v, tensor in zip(given, tensors)
        if tensor.is_floating_point()
    ]
    kind = _C.float64 if floating else _C.int64
    start, end, step = (_C.ops.cast(v, kind) for v in tensors)
    if floating:
        count = _C.ops.cast(((end - start) / step).ceil(), _C.int64)
    else:
        count = (end - start + step - step.sign()) // step
    steps = _C.ops.cumsum(_C.ops.full([_C.ops.clip(count, 0)], 1, _C.int64), 0) - 1
    return _C.ops.cast(start + _C.ops.cast(steps, kind) * step, dtype or (floating or [kind])[-1])


def linspace(start, stop, num, dtype=None, name=None):
    """`num` numbers at equal distances from start to stop, both among them.

    Examples:
        >>> proa.linspace(0, 1, 3).tolist()
        [0.0, 0.5, 1.0]
    """
    given = (v if _unread(v) is not None else _scalar("linspace", what, v)
             for what, v in (("start", start), ("stop", stop), ("num", num)))  # fmt: skip
    start, stop, num = given
    if _unread(num) is None:
        num = known_int("linspace", "num", int(num) if isinstance(num, float) and num.is_integer() else num)
    return _C.ops.linspace(start, stop, num, as_dtype(dtype) or _C.get_default_dtype())


def assign(x, output=None):
    """A copy of a tensor, an array or a number; written into `output` if that is given.

    Examples:
        >>> x = proa.ones([2])
        >>> y = proa.assign(x)
        >>> y[0] = 5.0
        >>> x.tolist()
        [1.0, 1.0]
    """
    x = tensor_or_number(x, "assign", "x")
    tensor = _C.ops.assign(x) if isinstance(x, _C.Tensor) else _C.to_tensor(x)
    if output is None:
        return tensor
    if not isinstance(output, _C.Tensor):
        raise wrong("assign", "output", "a Tensor", output)
    output.set_value(tensor)
    return output


def clone(x, name=None):
    """A copy through which gradients flow.

    Examples:
        >>> x = proa.to_tensor([2.0], stop_gradient=False)
        >>> (proa.clone(x) * 3.0).backward()
        >>> x.grad.tolist()
        [3.0]
    """
    return _C.ops.assign(x)


def diagflat(x, offset=0, name=None):
    """A matrix with the elements of x on a diagonal (`offset` above the main one) and zeros elsewhere.

    Examples:
        >>> proa.diagflat(proa.to_tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    return _C.ops.diag(_C.ops.reshape(x, [-1]), offset)


def meshgrid(*args, **kwargs):
    """For k vectors, k tensors of k dims: the i-th holds the i-th vector along dim i.

    Examples:
        >>> a, b = proa.meshgrid(proa.arange(2), proa.arange(3))
        >>> a.tolist(), b.tolist()
        ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    """
    vectors = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    vectors = [_C.tensor_argument(v, "meshgrid", f"argument {i}") for i, v in enumerate(vectors)]
    for v in vectors:
        if len(v.shape) > 1:
            raise _C.located(ValueError(f"meshgrid: arguments must be vectors; one is {list(v.shape)} {v.dtype.name}"))
    vectors = [_C.ops.reshape(v, [-1]) for v in vectors]
    shape = [v.shape[0] for v in vectors]
    grids = []
    for i, v in enumerate(vectors):
        place = [1] * len(shape)
        place[i] = shape[i]
        grids.append(_C.ops.broadcast_to(_C.ops.reshape(v, place), shape))
    return grids


__getattr__ = _borrow(__name__, "proa")
