"""Names of dtypes, from whatever a caller may write: proa.float32, "float32", numpy.float32, float."""

from proa import _C


def as_dtype(dtype):
    """The `proa.dtype` that `dtype` names; None stays None.

    Accepts a `proa.dtype`, its name, a NumPy dtype or scalar type, Python's bool, int (int64), float (float64) and
    complex (complex128), and the names by which C and NumPy call them: "int", "long", "short", "half", "float",
    "double", "complex". Raises TypeError for anything else.
    """
    if dtype is None or type(dtype) is _C.DType:
        return dtype
    try:
        return _C.DType(dtype)
    except TypeError:
        hint = "; if it is a size, put all sizes into one list: [2, 3]" if isinstance(dtype, int) else ""
        raise _C.located(TypeError(f"dtype: {dtype!r} is not an element type of tensors{hint}")) from None


def convert_dtype(dtype):
    """The name of a dtype: convert_dtype(proa.float32) == "float32"."""
    return as_dtype(dtype).name


def is_floating(dtype):
    """True for float16, bfloat16, float32 and float64."""
    return convert_dtype(dtype) in ("float32", "float64", "float16", "bfloat16")


def set_default_dtype(d):
    """Sets the dtype of tensors made from Python floats and of new parameters.

    Args:
        d: float16, bfloat16, float32 or float64, in any spelling.

    Examples:
        >>> proa.set_default_dtype("float64")
        >>> proa.get_default_dtype()
        'float64'
        >>> proa.set_default_dtype("float32")
    """
    dtype = as_dtype(d)
    if dtype is None or not is_floating(dtype):
        raise _C.located(TypeError(f"set_default_dtype: only floating point types can be the default, not {d!r}"))
    _C.set_default_dtype(dtype)


def get_default_dtype():
    """The name of the default floating point type, "float32" at first.

    Examples:
        >>> proa.get_default_dtype()
        'float32'
    """
    return convert_dtype(_C.get_default_dtype())


class iinfo:
    """Limits of an integer type: `min`, `max`, `bits`, `dtype`.

    Examples:
        >>> proa.iinfo(proa.int8).max
        127
    """

    def __init__(self, dtype):
        import numpy as np

        self.dtype = convert_dtype(dtype)
        info = np.iinfo(self.dtype)
        self.min, self.max, self.bits = int(info.min), int(info.max), info.bits


class finfo:
    """Limits of a floating point type: `min`, `max`, `eps`, `tiny`, `bits`, `dtype`.

    Examples:
        >>> proa.finfo("float16").max
        65504.0
    """

    def __init__(self, dtype):
        import numpy as np

        self.dtype = convert_dtype(dtype)
        if self.dtype == "bfloat16":
            self.bits, self.eps, self.tiny = 16, 2.0**-7, 2.0**-126
            self.max = (2.0 - 2.0**-7) * 2.0**127
            self.min = -self.max
            return
        info = np.finfo(self.dtype)
        self.bits, self.eps, self.tiny = info.bits, float(info.eps), float(info.tiny)
        self.min, self.max = float(info.min), float(info.max)
