"""What 1.8 kept beside its namespace: mixed precision. Passes over programs for quantization (slim) are not in this version."""

from proa.framework.names import lazy as _lazy

_MODULES = ("mixed_precision",)

__all__ = list(_MODULES)

__getattr__, __dir__ = _lazy(__name__, {}, _MODULES)
