"""Passes: rewrites of recorded programs that are trained, by name.

Examples:
    >>> from proa.distributed.passes import PassManager, new_pass
    >>> PassManager([new_pass("gradient_merge", {"k_steps": 4})]).names
    ['gradient_merge']
"""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert(
    {
        "proa.distributed.passes.base": "PassBase PassContext PassManager register_pass",
        "proa.distributed.passes.making": "new_pass",
    }
)

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("base", "making", "training"))
