"""Writing a checkpoint: who has what is agreed on, each process writes its share, and the manifest comes last."""

import os

from proa import _C
from proa.distributed.checkpoint import folders, states
from proa.distributed.groups import resolve
from proa.framework import container
from proa.framework.grad_mode import no_grad
from proa.framework.serialization import save as save_plain
from proa.framework.serialization import tensor_bytes

__all__ = ["agree", "save"]


def agree(what, group, act):
    """`act()` on this process; raises on all processes if it raised on one.

    Returns:
        list: what it gave on each process.
    """
    from proa.distributed.objects import all_gather_object

    result = error = None
    try:
        result = act()
    except Exception as e:  # noqa: BLE001
        error = e
    found = []
    all_gather_object(found, (result, None if error is None else f"{type(error).__name__}: {error}"), group)
    if error is not None:
        raise error
    for place, (_, text) in enumerate(found):
        if text is not None:
            raise _C.located(RuntimeError(f"{what}: process {group.ranks[place]} failed: {text}"))
    return [result for result, _ in found]


def _told(held):
    """What other processes have to know of a tensor."""
    piece = held.piece
    at = (piece.offset, piece.size, piece.begin, piece.end)
    return piece.shape, held.tensor.dtype.name, at, (piece.end - piece.begin) * held.tensor.element_size()


def _shares(told):
    """{(name, where): process that writes it}: of those that have it, the one with the least to write so far.

    Raises:
        ValueError: processes have a tensor in different shapes or dtypes.
    """
    holders, kinds = {}, {}
    for rank, by_name in enumerate(told):
        for name, (shape, dtype, at, size) in by_name.items():
            if kinds.setdefault(name, (shape, dtype)) != (shape, dtype):
                raise _C.located(
                    ValueError(
                        f"checkpoint.save: {name} is {list(shape)} {dtype} on process {rank}, and "
                        f"{list(kinds[name][0])} {kinds[name][1]} on another"
                    )
                )
            holders.setdefault((name, at), (size, []))[1].append(rank)
    load, found = [0] * len(told), {}
    # The large ones first, so that what comes last evens out.
    for (name, at), (size, ranks) in sorted(holders.items(), key=lambda item: (-item[1][0], item[0])):
        rank = min(ranks, key=lambda r: (load[r], r))
        load[rank] += size
        found[name, at] = rank
    return found


def _array(held):
    """(array, dtype name of the format) of what is to be written."""
    array, code = tensor_bytes(held.tensor)
    piece = held.piece
    if piece.padded is None:
        return array, code
    run = array.reshape(-1)[: piece.end - piece.begin]
    return run.reshape(piece.size) if piece.is_box else run, code


def _write(path, group, state, shares):
    """This process's file; ({file: bytes}, {name: entry}) of it."""
    file, arrays, entries = f"rank_{group.rank}.safetensors", {}, {}
    for name, held in state.items():
        piece = held.piece
        if shares[name, (piece.offset, piece.size, piece.begin, piece.end)] != group.rank:
            continue
        array, code = _array(held)
        arrays[name] = code, array
        place = [file, name, list(piece.offset), list(piece.size), piece.begin, piece.end]
        entries[name] = {"dtype": code, "shape": list(piece.shape), "pieces": [place]}
    if not arrays:
        return {}, {}
    container.write(os.path.join(path, file), arrays, None)
    return {file: os.path.getsize(os.path.join(path, file))}, entries


def _complete(path, step, written, plain):
    """Writes what is no tensor, and the manifest."""
    files, tensors = {}, {}
    for more_files, entries in written:
        files.update(more_files)
        for name, entry in entries.items():
            if name in tensors:
                tensors[name]["pieces"] += entry["pieces"]
            else:
                tensors[name] = entry
    save_plain(plain, os.path.join(path, folders.PLAIN))
    files[folders.PLAIN] = os.path.getsize(os.path.join(path, folders.PLAIN))
    folders.write_manifest(path, {"step": step, "files": files, "tensors": tensors})


@no_grad()
def save(folder, model, optimizer=None, step=0, extra=None, keep=2, group=None):
    """Writes a checkpoint of a model and its optimizer; all processes of the group call it together.

    Whatever happens to them, the last complete checkpoint stays until the new one is.

    Args:
        folder (str): holds the checkpoints; made if it is not there. All processes see the same one.
        model (Layer): on one process, or as `DataParallel`, `fleet.distributed_model` or `group_sharded_parallel` gave it.
        optimizer (optional): its optimizer, or what `fleet.distributed_optimizer` or `group_sharded_parallel` gave.
        step (int): how far training is.
        extra (optional): what else is to be kept, as `proa.save` takes it; that of the group's first process.
        keep (int): how many complete checkpoints stay; older ones are taken away.
        group (Group, optional): the processes; all unless given.

    Returns:
        str: the folder of the checkpoint.

    Raises:
        OSError: a process cannot write; on all processes, and no checkpoint has come of it.
        ValueError: step or keep is no such number, processes have different tensors of one name, or the optimizer has a
            parameter that the model has not.

    Examples:
        >>> import tempfile
        >>> from proa.distributed import checkpoint
        >>> folder = tempfile.TemporaryDirectory()
        >>> net = proa.nn.Linear(2, 3)
        >>> path = checkpoint.save(folder.name, net, step=5, extra={"loss": 0.25})
        >>> checkpoint.load(folder.name, proa.nn.Linear(2, 3)).extra
        {'loss': 0.25}
        >>> folder.cleanup()
    """
    for name, value, least in (("step", step, 0), ("keep", keep, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise _C.located(ValueError(f"checkpoint.save: {name} must be an int of at least {least}, not {value!r}"))
    group = resolve(group)
    first = group.rank == 0
    with _C.eager_mode():
        (path, *_) = agree("checkpoint.save", group, lambda: folders.new_folder(folder, step) if first else None)

        def collect():
            found = {f"model/{name}": held for name, held in states.model_state(model).items()}
            more, plain = ({}, {}) if optimizer is None else states.optimizer_state(model, optimizer)
            found.update({f"optimizer/{name}": held for name, held in more.items()})
            state.update(found)
            kept.update({"optimizer": plain, "extra": extra})
            return {name: _told(held) for name, held in found.items()}

        state, kept = {}, {}
        told = agree("checkpoint.save", group, collect)
        shares = _shares(told)
        written = agree("checkpoint.save", group, lambda: _write(path, group, state, shares))
        agree("checkpoint.save", group, lambda: _complete(path, step, written, kept) if first else None)
        agree("checkpoint.save", group, lambda: folders.prune(folder, keep) if first else None)
    return path
