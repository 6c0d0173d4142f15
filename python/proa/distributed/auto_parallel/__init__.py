"""Programs whose tensors say how workers divide them: ProcessMesh, shard_tensor, shard_op, and what divides the program.

Examples:
    >>> from proa.distributed.auto_parallel import ProcessMesh
    >>> mesh = ProcessMesh([[0, 1], [2, 3]])
    >>> mesh.topology, mesh.processes
    ([2, 2], [0, 1, 2, 3])
"""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert(
    {
        "proa.distributed.auto_parallel.process_mesh": "ProcessMesh",
        "proa.distributed.auto_parallel.marking": "shard_op shard_tensor",
        "proa.distributed.auto_parallel.partition": "divide",
    }
)

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("marking", "partition", "process_mesh", "rules"))
