"""Questions about dtypes, and what mixed ones become."""

from proa import _C
from proa.framework.dtype import finfo as _finfo
from proa.framework.dtype import iinfo as _iinfo

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8",),
    "real floating": ("float32", "float64", "float16", "bfloat16"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


def _dtype(value):
    return value.dtype if isinstance(value, _C.Tensor) else value


def is_kind(value, kind):
    """Whether a tensor or dtype is of a kind that the standard names."""
    return _dtype(value).name in _KINDS[kind]


def astype(x, dtype, /, *, copy=True, device=None):
    """The elements as another dtype; with copy=False the tensor itself where it has that one.

    Examples:
        >>> proa.array_api.astype(proa.to_tensor([1.7, -1.7]), proa.int32).tolist()
        [1, -1]
    """
    if x.is_complex() and not is_kind(dtype, "complex floating"):
        raise _C.located(
            TypeError(f"astype: {x.dtype.name} to {dtype.name} loses imaginary parts; take real(x) or abs(x)")
        )
    return x if not copy and x.dtype == dtype else _C.ops.cast(x, dtype)


def can_cast(from_, to, /):
    """Whether the dtype of mixing both is `to`: nothing is lost.

    Examples:
        >>> proa.array_api.can_cast(proa.int8, proa.int16), proa.array_api.can_cast(proa.int16, proa.uint8)
        (True, False)
    """
    return _mixed(_dtype(from_), _dtype(to)) == _dtype(to)


def _mixed(a, b):
    """What the package makes of the two dtypes."""
    return _C.ops.where(_C.ops.full([0], False, _C.bool), _C.ops.full([0], 0, a), _C.ops.full([0], 0, b)).dtype


def finfo(type, /):  # noqa: A002
    """bits, eps, max, min, smallest_normal and dtype of a floating-point type, or of a tensor's.

    Examples:
        >>> proa.array_api.finfo(proa.float32).eps
        1.1920928955078125e-07
    """
    dtype = _dtype(type)
    if is_kind(dtype, "complex floating"):
        dtype = _C.float32 if dtype == _C.complex64 else _C.float64
    return _FloatInfo(_finfo(dtype), dtype)


class _FloatInfo:
    """Plain numbers, as the standard wants them."""

    def __init__(self, info, dtype):
        self.bits, self.dtype = int(info.bits), dtype
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.smallest_normal = float(info.tiny)

    def __repr__(self):
        return f"finfo({self.dtype.name})"


class _IntegerInfo:
    def __init__(self, info, dtype):
        self.bits, self.max, self.min, self.dtype = int(info.bits), int(info.max), int(info.min), dtype

    def __repr__(self):
        return f"iinfo({self.dtype.name})"


def iinfo(type, /):  # noqa: A002
    """bits, max, min and dtype of an integer type, or of a tensor's.

    Examples:
        >>> proa.array_api.iinfo(proa.int8).max
        127
    """
    return _IntegerInfo(_iinfo(_dtype(type)), _dtype(type))


def isdtype(dtype, kind):
    """Whether a dtype is another, or of a kind, or one of a tuple of both.

    Args:
        kind (DType|str|tuple): "bool", "signed integer", "unsigned integer", "integral", "real floating",
            "complex floating" or "numeric".

    Examples:
        >>> proa.array_api.isdtype(proa.int8, ("real floating", "integral"))
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise _C.located(ValueError(f"isdtype: kind is {kind!r}; it may be {', '.join(_KINDS)}"))
        return dtype.name in _KINDS[kind]
    return dtype == kind


def result_type(*arrays_and_dtypes):
    """The dtype that tensors, dtypes and Python's numbers give together; numbers take the dtype of the others.

    Examples:
        >>> proa.array_api.result_type(proa.int8, proa.uint8, 3)
        proa.int16
    """
    strong = [_dtype(a) for a in arrays_and_dtypes if not isinstance(a, (bool, int, float, complex))]
    weak = [a for a in arrays_and_dtypes if isinstance(a, (bool, int, float, complex))]
    if not strong:
        raise _C.located(ValueError("result_type: a tensor or dtype is needed"))
    out = strong[0]
    for dtype in strong[1:]:
        out = _mixed(out, dtype)
    for number in weak:
        out = (_C.ops.full([0], 0, out) * number).dtype if not isinstance(number, bool) else out
    return out
