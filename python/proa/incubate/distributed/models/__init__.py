"""Parts of models for several processes."""

from proa.framework.names import lazy as _lazy

__getattr__, __dir__ = _lazy(__name__, submodules=("moe",))
