"""Model parallelism: layers whose parameters are divided among processes, what they exchange, their random numbers."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.distributed.fleet.layers.mpu.mp_layers": "ColumnParallelLinear ParallelCrossEntropy RowParallelLinear "
    "VocabParallelEmbedding",
    "proa.distributed.fleet.layers.mpu.random": "RNGStatesTracker get_rng_state_tracker model_parallel_random_seed",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("mp_layers", "mp_ops", "random"))
