"""Names under which programs reach the types of the extension module."""

from types import SimpleNamespace as _Namespace

from proa._C import CPUPlace, CUDAPinnedPlace, CUDAPlace, Place, Tensor

__all__ = ["CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "Place", "VarBase", "eager"]

VarBase = Tensor
eager = _Namespace(Tensor=Tensor)
