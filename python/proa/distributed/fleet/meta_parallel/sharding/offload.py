"""States of an optimizer in files that are mapped into memory, for models whose states do not fit into it."""

import math
import mmap
import os
import tempfile

import numpy as np

from proa import _C

__all__ = ["folder_of", "offload"]

# NumPy's names of what states are made of; 16-bit floats go by their bits.
_KINDS = {"float32": "float32", "float64": "float64", "float16": "float16"}


def folder_of(offload):
    """The folder that an argument `offload` names: True is `PROA_OFFLOAD_DIR`, else the system's for temporary files."""
    if isinstance(offload, (str, os.PathLike)):
        return os.fspath(offload)
    return os.environ.get("PROA_OFFLOAD_DIR") or tempfile.gettempdir()


def _mapped(tensor, folder):
    """A tensor over a file of its own that holds the same elements; None for one that is not worth a file."""
    kind = _KINDS.get(tensor.dtype.name)
    size = tensor.size * tensor.element_size()
    if kind is None or size < mmap.PAGESIZE:
        return None
    with tempfile.TemporaryFile(prefix="proa_states_", dir=folder) as file:  # without a name: it goes with the process
        os.posix_fallocate(file.fileno(), 0, size)  # an error now, not a signal later
        memory = mmap.mmap(file.fileno(), size)
    array = np.frombuffer(memory, kind, math.prod(tensor.shape)).reshape(tensor.shape)
    array[...] = tensor.numpy()
    return _C.from_dlpack(array)


def offload(optimizer, folder):
    """Lets an optimizer keep the states that it will make in mapped files: moments, and float32 copies of parameters.

    The system writes pages back when it needs memory, and reads them in a step. Values are the same.

    Args:
        optimizer (Optimizer): before its first step.
        folder (str): on a disk; it must be there.

    Raises:
        OSError: in the first step, if the disk has no room.
        ValueError: there is no such folder.
    """
    if not os.path.isdir(folder):
        raise _C.located(ValueError(f"group_sharded_parallel: offload: there is no folder {folder}"))
    start, master = optimizer._start_accumulator, optimizer._master_weight

    def start_mapped(name, parameter, options):
        made = start(name, parameter, options)
        mapped = _mapped(made, folder)
        return made if mapped is None else mapped

    def master_mapped(parameter):
        known = parameter.name in optimizer._master_weights
        made = master(parameter)
        if known:
            return made
        with _C.eager_mode():
            mapped = _mapped(made, folder)
        if mapped is None:
            return made
        mapped.name, mapped.persistable, mapped.stop_gradient = made.name, True, True
        optimizer._master_weights[parameter.name] = mapped
        return mapped

    optimizer._start_accumulator, optimizer._master_weight = start_mapped, master_mapped
