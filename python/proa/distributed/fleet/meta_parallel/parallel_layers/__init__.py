"""Layers that know which part of the model they are."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.distributed.fleet.layers.mpu.mp_layers": "ColumnParallelLinear ParallelCrossEntropy RowParallelLinear "
    "VocabParallelEmbedding",
    "proa.distributed.fleet.layers.mpu.random": "RNGStatesTracker get_rng_state_tracker model_parallel_random_seed",
    "proa.distributed.fleet.meta_parallel.parallel_layers.pp_layers": "LayerDesc PipelineLayer SharedLayerDesc",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(
    __name__,
    {**_HOMES, "random": "proa.distributed.fleet.layers.mpu", "mp_layers": "proa.distributed.fleet.layers.mpu"},
    ("pp_layers",),
)
