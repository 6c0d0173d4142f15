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
        LOD_TENSOR = 7
        SELECTED_ROWS = 8
        FEED_MINIBATCH = 9
        FETCH_LIST = 10
        STEP_SCOPES = 11
        LOD_RANK_TABLE = 12
        LOD_TENSOR_ARRAY = 13
        PLACE_LIST = 14
        READER = 15
        RAW = 17
        TUPLE = 18
        SIZE_T = 19
        STRING = 25
        STRINGS = 26
        VOCAB = 27


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
