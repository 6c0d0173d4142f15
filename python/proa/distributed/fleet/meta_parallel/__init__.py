"""Layers and models divided among processes."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.distributed.fleet.layers.mpu.mp_layers": "ColumnParallelLinear ParallelCrossEntropy RowParallelLinear "
    "VocabParallelEmbedding",
    "proa.distributed.fleet.layers.mpu.random": "RNGStatesTracker get_rng_state_tracker model_parallel_random_seed",
    "proa.distributed.fleet.meta_parallel.parallel_layers.pp_layers": "LayerDesc PipelineLayer SharedLayerDesc",
    "proa.distributed.fleet.meta_parallel.pipeline_parallel": "PipelineParallel PipelineParallelWithInterleave",
    "proa.distributed.fleet.meta_parallel.meta_parallel_base": "MetaParallelBase ShardingParallel TensorParallel",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(
    __name__,
    _HOMES,
    (
        "meta_parallel_base",
        "parallel_layers",
        "pipeline_parallel",
        "pp_utils",
        "sharding",
        "sharding_parallel",
        "tensor_parallel",
    ),
)
