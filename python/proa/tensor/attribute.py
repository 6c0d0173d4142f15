"""What a tensor is: questions about its type and shape."""

from proa import _C
from proa.framework.names import borrow as _borrow
from proa.tensor.method import method as _method

__all__ = [
    "is_complex",
    "is_empty",
    "is_floating_point",
    "is_integer",
    "is_tensor",
    "rank",
    "set_printoptions",
    "tolist",
]


def is_tensor(x):
    """Whether x is a tensor.

    Examples:
        >>> proa.is_tensor(proa.ones([1])), proa.is_tensor([1])
        (True, False)
    """
    return isinstance(x, _C.Tensor)


def _need_tensor(op, x, name="x"):
    if not isinstance(x, _C.Tensor):
        raise _C.located(TypeError(f"{op}: {name} must be a Tensor, not {type(x).__name__}"))


def is_complex(x):
    """Whether the elements are complex.

    Examples:
        >>> proa.is_complex(proa.to_tensor([1j]))
        True
    """
    _need_tensor("is_complex", x)
    return x.is_complex()


def is_floating_point(x):
    """Whether the elements are float16, bfloat16, float32 or float64.

    Examples:
        >>> proa.is_floating_point(proa.ones([2]))
        True
    """
    _need_tensor("is_floating_point", x)
    return x.is_floating_point()


def is_integer(x):
    """Whether the elements are integers; bool is none.

    Examples:
        >>> proa.is_integer(proa.arange(3))
        True
    """
    _need_tensor("is_integer", x)
    return x.is_integer()


@_method
def is_empty(x, name=None):
    """Whether there are no elements: a bool tensor, 0-d.

    Examples:
        >>> proa.is_empty(proa.zeros([0, 3])).item()
        True
    """
    _need_tensor("is_empty", x)
    return _C.ops.numel(x) == 0


def tensor_list(value, op, name):
    """A list of the tensors in a list or tuple; otherwise the error that names the argument."""
    if not isinstance(value, (list, tuple)):
        kind = "None" if value is None else type(value).__name__
        raise _C.located(TypeError(f"{op}: {name} must be a list or tuple of Tensor, not {kind}"))
    return [_C.tensor_argument(v, op, f"element {i} of {name}") for i, v in enumerate(value)]


def optional_tensor(value, op, name):
    """The tensor of an argument that may be None; otherwise the error that names the argument."""
    return None if value is None else _C.tensor_argument(value, op, name)


def tensor_or_number(value, op, name):
    """A value as it is if `to_tensor` takes it, like numbers and lists of them; otherwise the error that names the argument."""
    if isinstance(value, (_C.Tensor, bool, int, float, complex)):
        return value
    if isinstance(value, (list, tuple)):
        try:
            _C.to_tensor(value)
        except (TypeError, ValueError):
            pass
        else:
            return value
    elif not isinstance(value, type) and any(hasattr(value, way) for way in ("__array__", "__float__", "__index__")):
        return value
    kind = "None" if value is None else type(value).__name__
    raise _C.located(TypeError(f"{op}: {name} must be a Tensor, an array or numbers, not {kind}"))


@_method
def rank(input):
    """Number of dims: an int32 tensor, 0-d.

    Examples:
        >>> proa.rank(proa.ones([2, 3])).item()
        2
    """
    _need_tensor("rank", input, "input")
    return _C.to_tensor(len(input.shape), dtype=_C.int32)


def tolist(x):
    """The elements as nested lists; a number for a 0-d tensor.

    Examples:
        >>> proa.tolist(proa.arange(3))
        [0, 1, 2]
    """
    _need_tensor("tolist", x)
    return x.tolist()


def set_printoptions(precision=None, threshold=None, edgeitems=None, sci_mode=None, linewidth=None):
    """How tensors are printed.

    Args:
        precision (int, optional): digits after the point.
        threshold (int, optional): tensors of more elements are printed in part.
        edgeitems (int, optional): elements at each end of a dim that is printed in part.
        sci_mode (bool, optional): scientific notation.
        linewidth (int, optional): characters of a line.

    What is not given stays as it is.

    Raises:
        TypeError: a value of another type.
        ValueError: a negative number, or no room in a line.

    Examples:
        >>> proa.set_printoptions(precision=2)
        >>> print(proa.to_tensor(1 / 3))
        Tensor(shape=[], dtype=float32, place=Place(cpu), stop_gradient=True,
               0.33)
        >>> proa.set_printoptions(precision=8)
    """
    counts = {"precision": (precision, 0), "threshold": (threshold, 0), "edgeitems": (edgeitems, 0)}
    counts["linewidth"] = (linewidth, 1)
    for name, (value, least) in counts.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise _C.located(TypeError(f"set_printoptions: {name} must be int, not {type(value).__name__}"))
        if not least <= value < 2**31:
            raise _C.located(ValueError(f"set_printoptions: {name} must be from {least} to 2^31 - 1, not {value}"))
    if sci_mode is not None and not isinstance(sci_mode, bool):
        raise _C.located(TypeError(f"set_printoptions: sci_mode must be bool, not {type(sci_mode).__name__}"))
    given = {name: value for name, (value, _) in counts.items()} | {"sci_mode": sci_mode}
    _C.set_printoptions(**{name: value for name, value in given.items() if value is not None})


__getattr__ = _borrow(__name__, "proa")
