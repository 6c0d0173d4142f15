"""Optimizer states and parameters divided among processes; of one, all are here."""

import os

from proa import _C
from proa.distributed.environment import require_one_process

__all__ = ["group_sharded_parallel", "save_group_sharded_model"]


def group_sharded_parallel(
    model,
    optimizer,
    level,
    scaler=None,
    group=None,
    offload=False,
    sync_buffers=False,
    buffer_max_size=2**23,
    segment_size=2**20,
    sync_comm=False,
):
    """Divides among processes: the states of the optimizer ("os"), gradients too ("os_g"), parameters too ("p_g_os").

    Returns:
        (model, optimizer, scaler): as given; one process holds everything.
    """
    if level not in ("os", "os_g", "p_g_os"):
        raise _C.located(ValueError(f"group_sharded_parallel: level must be 'os', 'os_g' or 'p_g_os', not {level!r}"))
    require_one_process("group_sharded_parallel")
    return model, optimizer, scaler


def save_group_sharded_model(model, output, optimizer=None):
    """Writes model.pdmodel, and model.pdopt of the optimizer, into the folder `output`."""
    from proa.framework import save

    if os.path.isfile(output):
        raise _C.located(ValueError(f"save_group_sharded_model: output must be a folder, and {output} is a file"))
    os.makedirs(output, exist_ok=True)
    save(model.state_dict(), os.path.join(output, "model.pdmodel"))
    if optimizer is not None:
        save(optimizer.state_dict(), os.path.join(output, "model.pdopt"))
