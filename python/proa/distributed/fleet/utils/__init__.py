"""recompute, file systems and exchanges, under the names that programs know."""

from proa.autograd.recomputation import recompute
from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

__all__ = ["DistributedInfer", "HDFSClient", "LocalFS", "recompute"]

__getattr__, __dir__ = _lazy(
    __name__,
    _invert(
        {
            "proa.distributed.fleet.utils.fs": "LocalFS",
            "proa.distributed.fleet.utils.hdfs": "HDFSClient",
            "proa.distributed.fleet.utils.ps_util": "DistributedInfer",
        }
    ),  # fmt: skip
    ("fs", "hdfs", "hybrid_parallel_util", "ps_util", "sequence_parallel_utils"),
)
