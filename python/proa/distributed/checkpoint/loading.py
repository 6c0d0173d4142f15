"""Reading a checkpoint: each process puts together what it has of each tensor from the pieces that somebody wrote."""

import contextlib
import math
import os
from typing import NamedTuple

import numpy as np

from proa import _C
from proa.distributed.checkpoint import folders, pieces, states
from proa.distributed.checkpoint.saving import agree
from proa.distributed.groups import resolve
from proa.framework import container
from proa.framework.container import FileError
from proa.framework.grad_mode import no_grad
from proa.framework.serialization import load as load_plain
from proa.framework.serialization import tensor_of

__all__ = ["Restored", "load"]


class Restored(NamedTuple):
    """What `load` found.

    Attributes:
        step (int): how far training was.
        extra: as `save` was given it.
        path (str): the folder of the checkpoint.
    """

    step: int
    extra: object
    path: str


class _Checkpoint:
    """The tensors of a complete checkpoint; files are opened when they are needed."""

    def __init__(self, path, files):
        self.path, self._files, self._opened = path, files, {}
        self.manifest = folders.read_manifest(path)
        self.tensors = self.manifest["tensors"]

    def _array(self, file, key, dtype, shape):
        if file not in self._opened:
            at = os.path.join(self.path, file)
            opened = container.Opened(self._files.enter_context(container.open_regular(at)), at)
            self._opened[file] = opened, frozenset(opened.names)
        opened, names = self._opened[file]
        if key not in names:
            raise _C.located(FileError(f"{self.path}: {file} has no tensor {key!r}, which the manifest names"))
        code, array = opened.read(key)
        if code != dtype or array.size != shape:
            raise _C.located(FileError(f"{self.path}: tensor {key!r} of {file} is not what the manifest says"))
        return array

    def shapes(self, kind):
        """{name: shape} of the tensors of the "model" or the "optimizer"."""
        return {
            name.partition("/")[2]: entry["shape"]
            for name, entry in self.tensors.items()
            if name.startswith(f"{kind}/")
        }

    def read(self, name, piece=None):
        """The tensor that a process with this piece has; all of it without one."""
        entry = self.tensors[name]
        piece = pieces.whole(entry["shape"]) if piece is None else piece
        if list(piece.shape) != entry["shape"]:
            raise _C.located(
                ValueError(f"checkpoint.load: {name} is {list(piece.shape)} here, and {entry['shape']} in {self.path}")
            )
        boxes = _by_box(entry["pieces"])
        own = boxes.get((piece.offset, piece.size))
        if own is not None:
            flat, count = self._box(own, piece.size, (piece.begin, piece.end), entry["dtype"])
            box, missing = flat.reshape(piece.size), piece.end - piece.begin - count
        else:
            box, missing = self._from_others(boxes, piece, entry["dtype"])
        if missing:
            raise _C.located(FileError(f"{self.path}: parts of tensor {name!r} are missing"))
        return tensor_of(pieces.local(box, piece), entry["dtype"])

    def _from_others(self, boxes, piece, dtype):
        """(a box put together from others that overlap with it, how many elements are missing)."""
        box = np.zeros(piece.size, container.DTYPES[dtype][0])
        missing = box.size
        for (offset, size), runs in boxes.items():
            common = pieces.overlap(piece, piece._replace(offset=offset, size=size))
            if common is None:
                continue
            flat, count = self._box(runs, size, (0, math.prod(size)), dtype)
            if count == flat.size:
                here, there = common
                box[here] = flat.reshape(size)[there]
                missing -= box[here].size
        return box, missing

    def _box(self, runs, size, needed, dtype):
        """(elements of a box as far as they are needed, how many of those there are)."""
        flat = np.zeros(math.prod(size), container.DTYPES[dtype][0])
        count = 0
        for file, key, begin, end in runs:
            low, high = max(begin, needed[0]), min(end, needed[1])
            if low < high:
                array = self._array(file, key, dtype, end - begin).reshape(-1)
                flat[low:high] = array[low - begin : high - begin]
                count += high - low
        return flat, count


def _by_box(places):
    """{(offset, size): [(file, key, begin, end)]} of the places of a tensor's pieces; each once."""
    found = {}
    for file, key, offset, size, begin, end in places:
        found.setdefault((tuple(offset), tuple(size)), {})[begin, end] = (file, key, begin, end)
    return {box: [runs[at] for at in sorted(runs)] for box, runs in found.items()}


def _choose(folder, step):
    """The path of the last complete checkpoint (of a step); None if there is none."""
    there = [path for at, path in folders.complete(folder) if step is None or at == step]
    if not there and step is not None:
        steps = ", ".join(str(at) for at, _ in folders.complete(folder)) or "none"
        raise _C.located(
            FileNotFoundError(f"checkpoint.load: {folder} has no complete checkpoint of step {step}; it has {steps}")
        )
    return there[-1] if there else None


def _check_names(wanted, there, path, strict):
    """Raises if the model of all processes together is not that of the checkpoint."""
    wanted = {name for names in wanted for name in names}
    missing, more = sorted(wanted - set(there)), sorted(set(there) - wanted)
    if strict and (missing or more):
        told = [f"{what} {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}" for what, names in
                (("it has no", missing), ("the model has no", more)) if names]  # fmt: skip
        raise _C.located(ValueError(f"checkpoint.load: {path} is of another model: {'; '.join(told)}"))


def _put(target, value, name):
    """Writes a value into a tensor of the model."""
    if value.dtype != target.dtype:
        if not (value.is_floating_point() and target.is_floating_point()):
            raise _C.located(
                TypeError(
                    f"checkpoint.load: {name} is {target.dtype.name} here, and {value.dtype.name} in the checkpoint"
                )
            )
        value = value.astype(target.dtype)
    target.set_value(value)


@no_grad()
def load(folder, model, optimizer=None, step=None, strict=True, group=None):
    """Gives a model and its optimizer what the last complete checkpoint has; all processes of the group call it together.

    How many processes wrote it, and what was divided among them, does not matter.

    Args:
        folder (str): as `save` was given it.
        model (Layer): on one process, or as `DataParallel`, `fleet.distributed_model` or `group_sharded_parallel` gave it.
        optimizer (optional): its optimizer, or what `fleet.distributed_optimizer` or `group_sharded_parallel` gave.
        step (int, optional): that of another checkpoint than the last.
        strict (bool): the model has the tensors of the checkpoint, and no others; False leaves out what either has not.
        group (Group, optional): the processes; all unless given.

    Returns:
        Restored: step, extra and path; None if there is no complete checkpoint.

    Raises:
        FileNotFoundError: there is none of that step.
        ValueError: the checkpoint is of another model, or a file was cut off or altered.
        RuntimeError: another process failed.

    Examples:
        >>> import tempfile
        >>> from proa.distributed import checkpoint
        >>> folder = tempfile.TemporaryDirectory()
        >>> net = proa.nn.Linear(2, 3)
        >>> checkpoint.load(folder.name, net) is None
        True
        >>> _ = checkpoint.save(folder.name, net, step=5)
        >>> checkpoint.load(folder.name, net).step
        5
        >>> folder.cleanup()
    """
    group = resolve(group)
    first = group.rank == 0
    with _C.eager_mode(), contextlib.ExitStack() as files:
        (path, *_) = agree("checkpoint.load", group, lambda: _choose(folder, step) if first else None)
        if path is None:
            return None
        own = states.model_state(model)
        opened = []

        def open_it():
            opened.append(_Checkpoint(path, files))
            return list(own)

        wanted = agree("checkpoint.load", group, open_it)
        (there,) = opened

        def fill():
            _check_names(wanted, there.shapes("model"), path, strict)
            for name, held in own.items():
                if f"model/{name}" in there.tensors:
                    _put(held.tensor, there.read(f"model/{name}", held.piece), name)
            plain = load_plain(os.path.join(path, folders.PLAIN))
            if optimizer is not None:
                read = lambda name, piece: there.read(f"optimizer/{name}", piece)
                states.put_optimizer_state(model, optimizer, there.shapes("optimizer"), read, plain["optimizer"])
            extra.append(plain["extra"])

        extra = []
        agree("checkpoint.load", group, fill)
    return Restored(there.manifest["step"], extra[0], path)
