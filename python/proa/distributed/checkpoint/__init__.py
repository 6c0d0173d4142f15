"""Checkpoints of jobs: every process writes a part, and any number of processes, divided in any way, reads them again.

    from proa.distributed import checkpoint
    restored = checkpoint.load("checkpoints", model, optimizer)
    for step in range(restored.step if restored else 0, 1000):
        ...
        if step % 100 == 99:
            checkpoint.save("checkpoints", model, optimizer, step + 1)

A checkpoint is a folder `step_100` of safetensors files, one for each process that had something to write, and
`manifest.json`, which says where each piece of each tensor is. It is written last: what has none is not complete, and is
passed over. Tensors go by the names that one process would have for them, with the shape that it would have, so that a job
of 2 x 2 tensor parallel stages goes on as one of 8 data-parallel processes. What all have is written once.

All processes see one file system.
"""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.distributed.checkpoint.saving": "save",
    "proa.distributed.checkpoint.loading": "Restored load",
    "proa.distributed.checkpoint.folders": "complete",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("folders", "loading", "pieces", "saving", "states"))
