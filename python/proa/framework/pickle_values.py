"""What a pickle's machine has on its stack that is no plain value, until it is finished."""

import numpy as np

__all__ = ["Array", "DType", "Global", "Ready", "Slice", "kind_of"]


class Slice:
    """Bytes that stay in the file until they are wanted, as a `bytes` or `bytearray`."""

    def __init__(self, start, size, kind):
        self.start, self.size, self.kind = start, size, kind


class Global:
    """A name that stands for something that this reader can do."""

    def __init__(self, name, call):
        self.name, self.call = name, call


class DType:
    """A dtype; BUILD gives it its byte order."""

    def __init__(self, code):
        self.code, self.order = code, "<"

    def build(self, machine, state):
        ok = (
            isinstance(state, tuple)
            and len(state) in (8, 9)
            and state[0] in (3, 4)
            and state[1] in ("<", ">", "|", "=")
        )
        if not ok or state[2:5] != (None, None, None):
            machine.fail("builds a dtype with fields or from an unknown state")
        self.order = ">" if state[1] == ">" else "<"

    def numpy(self):
        return np.dtype(self.order + self.code)


class Array:
    """An array; its contents come with BUILD."""

    def __init__(self):
        self.value = None

    def build(self, machine, state):
        if not isinstance(state, tuple) or len(state) != 5 or not isinstance(state[0], int):
            machine.fail("builds an array from an unknown state")
        _, shape, dtype, fortran, raw = state
        self.value = machine.array(raw, dtype, shape, "F" if fortran is True else "C")


class Ready:
    """A value that needs nothing more, whatever it is."""

    def __init__(self, value):
        self.value = value


def kind_of(value):
    """What messages call a value."""
    if isinstance(value, Global):
        return value.name
    return {"Slice": "bytes", "DType": "dtype", "Array": "array"}.get(type(value).__name__, type(value).__name__)
