"""Data sets that know a tree over the ids in them, and the kinds of `paddle.distributed`."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert(
    {
        "proa.distributed.fleet.dataset.index_dataset": "TreeIndex",
        "proa.distributed.file_dataset": "InMemoryDataset QueueDataset",
    }
)

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("index_dataset",))
