"""Layers divided among processes; of one process, the whole layers."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

__all__ = ["ColumnParallelLinear", "LayerDesc", "RowParallelLinear", "VocabParallelEmbedding", "get_rng_state_tracker"]

__getattr__, __dir__ = _lazy(__name__, _invert({"proa.distributed.fleet.meta_parallel.layers": " ".join(__all__)}))
