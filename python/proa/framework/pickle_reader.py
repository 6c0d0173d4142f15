"""Reads pickles of plain values and NumPy arrays without running anything that they say.

A pickle is a program for a stack machine that may import and call what it likes. This
machine has the opcodes that make numbers, text, bytes, lists, tuples, dicts and sets, and
knows the few functions by which arrays (and the reference's tensors) are written *by name*:
what such a name does is written here, nothing is imported or called for it. Everything else
is a FileError that says the opcode, the name and the byte.

What a file can make this process do is bounded by its size: lengths are checked against what
is left of the file before memory is taken, bytes of arrays are read from the file once when
they are needed, and copies of what was read before count against a budget.

    >>> import io, pickle
    >>> from proa.framework.pickle_reader import read
    >>> read(io.BytesIO(pickle.dumps({"lr": 0.1, "steps": [1, 2]})), "state")
    {'lr': 0.1, 'steps': [1, 2]}
"""

import numpy as np

from proa.framework.pickle_machine import Machine
from proa.framework.pickle_values import Array, DType, Ready, Slice, kind_of

_MAX_DEPTH = 200  # of nested values


def read(stream, name):
    """The value of the pickle at the stream's position, with NumPy arrays and scalars in it.

    Args:
        stream: a binary stream that can seek.
        name (str): of the file, for messages.

    Raises:
        FileError: the pickle is cut off, asks for something to be called or imported, or holds
            what is neither a plain value nor an array of numbers.
    """
    return run(Machine(stream, name))


def run(machine):
    """The value of a machine's pickle."""
    return machine.run(_Finisher(machine).finish)


class _Finisher:
    """Replaces the machine's own objects by what they stand for, each once; shared values stay shared."""

    def __init__(self, machine):
        self._machine = machine
        self._done, self._open = {}, set()

    def finish(self, value, depth=0):
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, bytearray, np.generic)):
            return value
        if id(value) in self._done:
            return self._done[id(value)][0]
        if id(value) in self._open:
            self._machine.fail("makes a value that contains itself")
        if depth > _MAX_DEPTH:
            self._machine.fail(f"makes values nested deeper than {_MAX_DEPTH}")
        self._open.add(id(value))
        result = self._finish(value, depth + 1)
        self._open.discard(id(value))
        self._done[id(value)] = result, value  # kept, so that its id is not given again
        return result

    def _finish(self, value, depth):
        if isinstance(value, dict):
            for key, item in value.items():
                value[key] = self.finish(item, depth)
            return value
        if isinstance(value, list):
            value[:] = [self.finish(item, depth) for item in value]
            return value
        if isinstance(value, tuple):
            return tuple(self.finish(item, depth) for item in value)
        if isinstance(value, (set, frozenset)):
            return value
        if isinstance(value, np.ndarray):
            return value
        if isinstance(value, Slice):
            return value.kind(self._machine.data(value))
        if isinstance(value, Ready) or isinstance(value, Array) and value.value is not None:
            return value.value
        if isinstance(value, DType):
            return value.numpy()
        return self._machine.fail(f"leaves the name {kind_of(value)} as a value")
