"""Optimizers as several workers use them."""

from proa.framework.names import lazy as _lazy

__getattr__, __dir__ = _lazy(__name__, submodules=("dygraph_optimizer", "program_optimizer"))
