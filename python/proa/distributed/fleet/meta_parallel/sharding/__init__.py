"""States of optimizers, gradients and parameters divided among processes."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.distributed.fleet.meta_parallel.sharding.divided_optimizer": "DividedOptimizer",
    "proa.distributed.fleet.meta_parallel.sharding.divided_layers": "DividedGradients DividedParameters",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("divided_layers", "divided_optimizer", "offload"))
