"""Training on several processes: how they start and meet, collectives among them, and `DataParallel`.

A process that nobody started as one of several is a job of one: `get_rank()` is 0, `get_world_size()` is 1, collectives
check their arguments and leave tensors as they are, and `DataParallel` is the layer inside of it.
"""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.distributed.parallel": "DataParallel ParallelEnv get_rank get_world_size init_parallel_env is_initialized "
    "is_available destroy_process_group get_backend",
    "proa.distributed.collective": "Group P2POp ReduceOp all_gather all_gather_object all_reduce all_to_all=alltoall "
    "alltoall alltoall_single barrier batch_isend_irecv broadcast broadcast_object_list gather get_group irecv isend "
    "new_group recv recv_object_list reduce reduce_scatter scatter scatter_object_list send send_object_list split stream "
    "wait",
    "proa.distributed.fleet.base.topology": "ParallelMode",
    "proa.distributed.spawning": "spawn",
    "proa.distributed.gloo": "gloo_barrier gloo_init_parallel_env gloo_release",
    "proa.distributed.auto_parallel.process_mesh": "ProcessMesh",
    "proa.distributed.auto_parallel.marking": "shard_op shard_tensor",
    "proa.distributed.entry": "CountFilterEntry ProbabilityEntry ShowClickEntry",
    "proa.distributed.file_dataset": "InMemoryDataset QueueDataset",
})  # fmt: skip

__all__ = sorted([*_HOMES, "fleet"])

__getattr__, __dir__ = _lazy(
    __name__,
    _HOMES,
    (
        "auto_parallel",
        "checkpoint",
        "collective",
        "dist_model",
        "fleet",
        "functional",
        "io",
        "launch",
        "parallel",
        "passes",
        "ray",
        "rpc",
        "sharding",
        "simulate",
        "spawning",
        "utils",
    ),
)
