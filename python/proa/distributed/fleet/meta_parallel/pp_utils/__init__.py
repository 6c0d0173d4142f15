"""What stages of a pipeline send each other."""

from proa.framework.names import lazy as _lazy

__getattr__, __dir__ = _lazy(__name__, submodules=("p2p_communication", "schedule"))
