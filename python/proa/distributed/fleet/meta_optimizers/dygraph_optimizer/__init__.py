"""Optimizers of models that are trained eagerly on several workers."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.distributed.fleet.meta_optimizers.dygraph_optimizer.hybrid_clip": "HybridParallelClipGrad "
    "HybridParallelClipGradByNorm",
    "proa.distributed.fleet.meta_optimizers.dygraph_optimizer.hybrid_parallel_optimizer": "HybridParallelOptimizer "
    "watch_all_ranks",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("hybrid_clip", "hybrid_parallel_optimizer"))
