"""Optimizer states, gradients and parameters divided among processes; of one process, all are here."""

import os

from proa import _C
from proa.distributed.groups import rank as own_rank
from proa.distributed.groups import world_size

__all__ = ["group_sharded_parallel", "save_group_sharded_model"]

LEVELS = ("os", "os_g", "p_g_os")  # stages 1, 2 and 3


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

    With N processes, a parameter of P bytes, and an optimizer with states of K bytes a parameter's byte, each process
    keeps P + P + K P / N bytes at "os", P + P / N + K P / N at "os_g" and (2 P + K P) / N at "p_g_os". Losses and
    weights are those of one process that has the whole batch.

    Args:
        model (Layer): the network, equal on all processes (the first's parameters are taken).
        optimizer (Optimizer): SGD, Momentum, Adam, AdamW, Adamax, Adagrad, Adadelta, RMSProp, Lamb or LarsMomentum, before its
            first step.
        level (str): "os", "os_g" or "p_g_os".
        scaler (GradScaler, optional): leaves out a step on all processes together.
        group (Group, optional): the processes; all unless given.
        offload (bool|str): states in files that are mapped into memory, in this folder, or for True in
            `PROA_OFFLOAD_DIR`, else the system's folder for temporary files; put it on a disk. They are written back when
            memory is short, and go with the process. Of one process too.
        sync_buffers, buffer_max_size, segment_size, sync_comm: accepted; buffers begin equal, exchanges are waited for.

    Returns:
        (model, optimizer, scaler): to be used in place of the given ones.

    Raises:
        ValueError: for another level.
        TypeError: for what is no Layer or Optimizer.
        NotImplementedError: an optimizer or a clip that looks at whole parameters; offload on a GPU.
        OSError: offload, and the disk has no room; in the first step.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
        >>> net, sgd, _ = proa.distributed.sharding.group_sharded_parallel(net, sgd, "os_g")
    """
    from proa.nn import Layer
    from proa.optimizer import Optimizer

    if level not in LEVELS:
        raise _C.located(ValueError(f"group_sharded_parallel: level must be 'os', 'os_g' or 'p_g_os', not {level!r}"))
    for name, value, kind in (("model", model, Layer), ("optimizer", optimizer, Optimizer)):
        if not isinstance(getattr(value, "keeps_zeros_of", value), kind):
            raise _C.located(
                TypeError(f"group_sharded_parallel: {name} must be a {kind.__name__}, not {type(value).__name__}")
            )
    if offload and any("cpu" not in str(p.place).lower() for p in model.parameters()):
        raise _C.located(
            NotImplementedError("group_sharded_parallel: offload from a GPU is not in this version; leave it out")
        )
    if offload:
        from proa.distributed.fleet.meta_parallel.sharding import offload as mapped

        mapped.offload(optimizer, mapped.folder_of(offload))
    if world_size() == 1:
        return model, optimizer, scaler
    from proa.distributed import collective, parallel
    from proa.distributed.fleet.meta_optimizers.dygraph_optimizer import watch_all_ranks
    from proa.distributed.fleet.meta_parallel import sharding as divided
    from proa.distributed.fleet.utils.hybrid_parallel_util import broadcast_parameters

    if not parallel.is_initialized():
        parallel.init_parallel_env()
    group = collective.get_group(0) if group is None else group
    if level == "p_g_os":
        wrapper = divided.DividedParameters(model, group)
    elif level == "os_g":
        wrapper = divided.DividedGradients(model, group)
    else:
        wrapper = model
        broadcast_parameters(model, group)
    optimizer = divided.DividedOptimizer(optimizer, group, stage=LEVELS.index(level) + 1)
    if scaler is not None:
        watch_all_ranks(scaler, group)
    return wrapper, optimizer, scaler


def save_group_sharded_model(model, output, optimizer=None):
    """Writes model.pdmodel, and model.pdopt of the optimizer, into the folder `output`, as one process would have them.

    All processes call it together; the first writes.

    Args:
        model (Layer): from `group_sharded_parallel`.
        output (str): a folder, made if it is not there.
        optimizer (optional): from `group_sharded_parallel`.

    Raises:
        ValueError: output is a file.
        NotImplementedError: processes have experts of their own.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> proa.distributed.sharding.save_group_sharded_model(proa.nn.Linear(2, 1), folder.name)
        >>> os.listdir(folder.name)
        ['model.pdmodel']
        >>> folder.cleanup()
    """
    from proa.framework import save

    if os.path.isfile(output):
        raise _C.located(ValueError(f"save_group_sharded_model: output must be a folder, and {output} is a file"))
    state = model.state_dict()
    for name, value in state.items() if world_size() > 1 else ():
        if getattr(value, "no_sync", False):
            raise _C.located(
                NotImplementedError(
                    f"save_group_sharded_model: {name} is another one on each process, and one file has that of one; "
                    "paddle.distributed.checkpoint.save writes those of all"
                )
            )
    states = None if optimizer is None else optimizer.state_dict()
    if own_rank() == 0:
        os.makedirs(output, exist_ok=True)
        save(state, os.path.join(output, "model.pdmodel"))
        if states is not None:
            save(states, os.path.join(output, "model.pdopt"))
    if world_size() > 1:
        from proa.distributed import collective

        collective.barrier()
