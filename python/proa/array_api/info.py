"""What there is, for programs that ask."""

from proa import _C
from proa.array_api.creation import default_float
from proa.array_api.dtypes import isdtype

__all__ = ["__array_namespace_info__"]

_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64", "complex64", "complex128")


class __array_namespace_info__:  # noqa: N801
    """Capabilities, devices and dtypes.

    Examples:
        >>> proa.array_api.__array_namespace_info__().default_dtypes()["integral"]
        proa.int64
    """

    def capabilities(self):
        """What is there of what is optional."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self):
        """Where tensors are made."""
        return _C.ops.full([0], 0, _C.float32).place

    def devices(self):
        """Where tensors can be."""
        return [self.default_device()]

    def default_dtypes(self, *, device=None):
        """The dtypes of what says none, by kind."""
        real = default_float()
        return {
            "real floating": real,
            "complex floating": _C.complex128 if real == _C.float64 else _C.complex64,
            "integral": _C.int64,
            "indexing": _C.int64,
        }

    def dtypes(self, *, device=None, kind=None):
        """{name: dtype} of those of a kind, or of one of a tuple of kinds; all unless given."""
        found = {name: getattr(_C, name) for name in _DTYPES}
        return found if kind is None else {name: d for name, d in found.items() if isdtype(d, kind)}
