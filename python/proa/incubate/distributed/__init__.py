"""Models for several processes whose interface may still change."""

from proa.framework.names import lazy as _lazy

__getattr__, __dir__ = _lazy(__name__, submodules=("models",))
