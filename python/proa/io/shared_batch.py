"""Batches of worker processes in shared memory.

A worker packs the arrays of a batch side by side into a slot: a file without a name in memory that both processes map. What
goes through the socket is the rest of the batch, with a Leaf in place of each array. The parent copies the arrays into
tensors and gives the slot back, so that pages are touched anew only while slots still grow.

Slots are no files of /dev/shm: a mount that is small or full does not matter, and nothing is left behind by whoever is killed.
The memory of a slot is claimed when it is made. Too little is an OSError then, and no bus error later.
"""

import errno
import mmap
import os
from typing import Any, NamedTuple

import numpy as np

from proa import _C
from proa.io.collate import Rows, is_numeric, with_leaves

_ALIGNMENT = 64
# Less goes through the socket.
_SMALL = 1 << 12


class Leaf(NamedTuple):
    """Where an array lies in the memory of its batch, and what it is as a tensor."""

    offset: int
    dtype: str
    shape: tuple
    tensor_dtype: str | None


class Packed(NamedTuple):
    """A batch on its way: its structure, and its arrays in a slot (a number) or beside it (bytes)."""

    structure: Any
    slot: int | None
    data: bytes | None


class Slots:
    """A worker's slots."""

    def __init__(self):
        # From numbers to memory.
        self._free = {}
        self._used = {}
        self._next = 0
        self._made, self._dropped = [], []

    def news(self):
        """What the parent must hear of since the last time: (number, size, descriptor) of new slots, numbers of old ones."""
        made, dropped, self._made, self._dropped = self._made, self._dropped, [], []
        return made, dropped

    def take(self, size):
        """(number, memory) of a slot of at least this size."""
        for number, memory in self._free.items():
            if len(memory) >= size:
                self._used[number] = self._free.pop(number)
                return number, memory
        if self._free:
            number, memory = self._free.popitem()
            memory.close()
            self._dropped.append(number)
        number, self._next = self._next, self._next + 1
        memory = self._used[number] = self._make(number, size + size // 8)
        return number, memory

    def _make(self, number, size):
        descriptor = os.memfd_create("proa-batch", os.MFD_CLOEXEC)
        try:
            os.posix_fallocate(descriptor, 0, size)
            memory = mmap.mmap(descriptor, size)
        except OSError as error:
            os.close(descriptor)
            number_of = error.errno or errno.ENOMEM
            # Located by who asked for the batch, in another process.
            refusal = OSError(
                number_of,
                f"{size} bytes of shared memory for a batch are not to be had ({os.strerror(number_of)}); "
                "use smaller batches, fewer workers, or use_shared_memory=False",
            )
            raise refusal from None
        self._made.append((number, size, descriptor))
        return memory

    def give_back(self, number):
        """The parent no longer needs it."""
        self._free[number] = self._used.pop(number)


def pack(batch, slots):
    """A Packed of a batch; `slots` is None where there is no shared memory."""
    leaves, size = [], 0

    def place(leaf):
        nonlocal size
        tensor_dtype = None
        if isinstance(leaf, _C.Tensor):
            # Some dtypes are not NumPy's.
            tensor_dtype = leaf.dtype.name
            leaf = leaf.detach().numpy()
        elif isinstance(leaf, np.ndarray) and not is_numeric(leaf):
            return leaf
        offset = -(-size // _ALIGNMENT) * _ALIGNMENT
        size = offset + int(np.prod(leaf.shape, dtype=np.int64)) * leaf.dtype.itemsize
        leaves.append((leaf, offset))
        return Leaf(offset, leaf.dtype.str, tuple(leaf.shape), tensor_dtype)

    structure = with_leaves(batch, place)
    number = None
    if slots is not None and size > _SMALL:
        number, memory = slots.take(size)
    else:
        memory = bytearray(size)
    for leaf, offset in leaves:
        place_of_it = np.ndarray(leaf.shape, leaf.dtype, memory, offset)
        if isinstance(leaf, Rows):
            leaf.write(place_of_it)
        else:
            place_of_it[...] = leaf
    return Packed(structure, number, bytes(memory) if number is None else None)


def unpack(packed, memory):
    """The batch, its arrays as tensors of their own memory."""
    return _restored(packed.structure, packed.data if packed.slot is None else memory)


def _restored(value, memory):
    if isinstance(value, Leaf):
        tensor = _C.to_tensor(np.ndarray(value.shape, value.dtype, memory, value.offset))
        return tensor if value.tensor_dtype in (None, tensor.dtype.name) else tensor.astype(value.tensor_dtype)
    if isinstance(value, dict):
        return {key: _restored(v, memory) for key, v in value.items()}
    if isinstance(value, list):
        return [_restored(v, memory) for v in value]
    return value
