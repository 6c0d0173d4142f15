"""fleet and generators of data, under their old paths."""

from proa.framework.names import lazy as _lazy

__getattr__, __dir__ = _lazy(__name__, submodules=("data_generator", "fleet"))
