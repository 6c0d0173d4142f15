"""What `proa.sparse` has, by the name of release 2.4."""

from proa import sparse as _sparse
from proa.framework.names import lazy as _lazy

_HOMES = {name: "proa.sparse" for name in _sparse.__all__ if name not in ("functional", "nn")}

__all__ = [*_HOMES, "nn"]

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("nn",))
