"""Calls of functions on other workers of a job, by the workers' names.

Examples:
    >>> from proa.distributed import rpc
    >>> rpc.init_rpc("worker0", rank=0, world_size=1)
    >>> rpc.rpc_sync("worker0", max, args=(2, 3))
    3
    >>> rpc.shutdown()
"""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert(
    {
        "proa.distributed.rpc.workers": "WorkerInfo get_all_worker_infos get_current_worker_info get_worker_info init_rpc rpc_async rpc_sync "
        "shutdown"
    }
)

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("links", "workers"))
