"""Names under which programs reach the types of the extension module."""

from types import SimpleNamespace as _Namespace

from proa import _C
from proa._C import CPUPlace, CUDAPinnedPlace, CUDAPlace, Place, Tensor

__all__ = ["CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "Place", "VarBase", "VarDesc", "eager"]

VarBase = Tensor


class _Eager(_Namespace):
    """`core.eager`: the types of tensors; that of strings comes when it is used."""

    def __getattr__(self, name):
        if name == "StringTensor":
            from proa.incubate.strings import StringTensor

            return StringTensor
        raise AttributeError(name)


eager = _Eager(Tensor=Tensor)


class _Kind(int):
    """A kind of variable: its number, which is equal to its name, too."""

    def __new__(cls, number, *names):
        made = int.__new__(cls, number)
        made.name, made._names = names[0], names
        return made

    def __eq__(self, other):
        return other in self._names if isinstance(other, str) else int(self) == other

    def __ne__(self, other):
        return not self == other

    __hash__ = int.__hash__

    def __repr__(self):
        return f"VarType.{self.name}"


class VarDesc:
    """Kinds of variables; those of elements are the dtypes themselves."""

    class VarType:
        """BOOL to BF16 are dtypes; the others, kinds of variables that are no tensors."""

        BOOL = _C.bool
        INT8 = _C.int8
        UINT8 = _C.uint8
        INT16 = _C.int16
        INT32 = _C.int32
        INT64 = _C.int64
        FP16 = _C.float16
        BF16 = _C.bfloat16
        FP32 = _C.float32
        FP64 = _C.float64
        COMPLEX64 = _C.complex64
        COMPLEX128 = _C.complex128
        LOD_TENSOR = _Kind(7, "LOD_TENSOR", "DENSE_TENSOR")
        SELECTED_ROWS = _Kind(8, "SELECTED_ROWS")
        FEED_MINIBATCH = _Kind(9, "FEED_MINIBATCH")
        FETCH_LIST = _Kind(10, "FETCH_LIST")
        STEP_SCOPES = _Kind(11, "STEP_SCOPES")
        LOD_RANK_TABLE = _Kind(12, "LOD_RANK_TABLE")
        LOD_TENSOR_ARRAY = _Kind(13, "LOD_TENSOR_ARRAY")
        PLACE_LIST = _Kind(14, "PLACE_LIST")
        READER = _Kind(15, "READER")
        RAW = _Kind(17, "RAW")
        TUPLE = _Kind(18, "TUPLE")
        SIZE_T = _Kind(19, "SIZE_T")
        STRING = _Kind(25, "STRING")
        STRINGS = _Kind(26, "STRINGS")
        VOCAB = _Kind(27, "VOCAB")


def __getattr__(name):
    # The rest of what programs look for in a core.
    if name in ("__all__", "__path__"):
        raise AttributeError(name)
    from proa.fluid import core

    try:
        return getattr(core, name)
    except AttributeError:
        from proa.framework.names import MissingName

        raise MissingName(__name__, name) from None
