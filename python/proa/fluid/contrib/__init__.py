"""What 1.8 kept beside its namespace: layers, readers, mixed precision. Passes over programs for quantization (slim) are not in this version."""

from proa.framework.names import lazy as _lazy

_MODULES = ("layers", "mixed_precision", "reader")

__all__ = list(_MODULES)

__getattr__, __dir__ = _lazy(__name__, {}, _MODULES)
