"""What `proa.sparse.nn` has, by the name of release 2.4."""

from proa.framework.names import lazy as _lazy
from proa.sparse import nn as _nn

_HOMES = {name: "proa.sparse.nn" for name in _nn.__all__ if name != "functional"}

__all__ = [*_HOMES, "functional"]

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("functional",))
