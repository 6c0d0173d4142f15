"""What the reference's `paddle.save` wrote, as `proa.load` gives it.

`paddle.save` pickles NumPy arrays in three ways, and its `load` tells them apart by what
it finds:

- a `state_dict`: a dict of arrays with a table of the parameters' names under
  `StructuredToParameterName@@`; the entries that the table names become tensors.
- since 2.1, any other value: each tensor is a tuple (name, array); if there is one, those
  become tensors and arrays stay arrays.
- before, and for what `paddle.static.save` wrote: all arrays become tensors.

With protocols 2 and 3, arrays of more than a gigabyte are cut into pieces, which
`UnpackBigParamInfor@@` lists.
"""

import numpy as np

from proa import _C
from proa.framework import pickle_reader
from proa.framework.container import FileError

_NAMES = "StructuredToParameterName@@"
_PIECES = "UnpackBigParamInfor@@"


def is_pickle(start, size):
    """Whether a file that begins with the bytes `start` and has `size` bytes is a pickle, not safetensors."""
    header = int.from_bytes(start[:8], "little")
    if len(start) > 8 and start[8:9] == b"{" and header <= size - 8:
        return False
    if start[:1] == b"\x80":
        return len(start) > 1 and 1 <= start[1] <= 5
    # Protocols 0 and 1 begin with the value.
    return start[:2] in (b"(d", b"(l", b"(t") or start[:1] in (b"}", b"]") and start[1:2] in (b"q", b".", b"(")


def load(stream, path, return_numpy, keep_name_table):
    """The value of the pickle that `stream` is at, with tensors in it (arrays with `return_numpy`)."""
    value = pickle_reader.read(stream, path)
    try:
        with _C.eager_mode():  # What a file holds are values, where a program is recorded, too.
            return _Interpreter(path, return_numpy).interpret(value, keep_name_table)
    except RecursionError:
        raise _C.located(FileError(f"{path}: the values are nested too deeply")) from None


class _Interpreter:
    def __init__(self, path, return_numpy):
        self._path, self._return_numpy = path, return_numpy
        self._done = {}

    def interpret(self, value, keep_name_table):
        if isinstance(value, dict):
            self._join_pieces(value)
            if isinstance(value.get(_NAMES), dict):
                return self._state(value, keep_name_table)
        if _contains(value, _is_named, set()):
            return self._convert(value, _is_named)
        return self._convert(value, _is_array)

    def _state(self, state, keep_name_table):
        for key, name in state[_NAMES].items():
            if isinstance(state.get(key), np.ndarray):
                state[key] = self._tensor(state[key], name)
        if not keep_name_table:
            del state[_NAMES]
        return state

    def _join_pieces(self, state):
        """The arrays that were cut, put together again."""
        table = state.pop(_PIECES, None)
        if table is None:
            return
        try:
            used = []
            for key, entry in table.items():
                pieces = [state[piece] for piece in entry["slices"]]
                used += entry["slices"]
                if len(set(used)) != len(used) or not all(isinstance(piece, np.ndarray) for piece in pieces):
                    raise _C.located(ValueError("a piece is used twice, or is no array"))
                state[key] = np.concatenate(pieces).reshape(entry["OriginShape"])
            for piece in used:
                del state[piece]
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise _C.located(FileError(f"{self._path}: {_PIECES} does not fit the file: {error}")) from None

    def _convert(self, value, is_tensor):
        """The value with the tensors in it; what is shared stays shared."""
        if is_tensor(value):
            name, array = value if isinstance(value, tuple) else (None, value)
            return self._tensor(array, name)
        if isinstance(value, dict):
            for key, item in self._once(value, value.items):
                value[key] = self._convert(item, is_tensor)
        elif isinstance(value, list):
            for i, item in self._once(value, lambda: enumerate(value)):
                value[i] = self._convert(item, is_tensor)
        elif isinstance(value, tuple):
            if id(value) not in self._done:
                self._done[id(value)] = tuple(self._convert(item, is_tensor) for item in value), value
            return self._done[id(value)][0]
        return value

    def _once(self, value, items):
        if id(value) in self._done:
            return []
        self._done[id(value)] = value, value
        return list(items())

    def _tensor(self, array, name):
        if self._return_numpy or array.dtype.name in ("uint32", "uint64"):  # of which there are no tensors
            return array
        name = name if isinstance(name, str) else ""
        key = id(array), name
        if key not in self._done:
            if array.dtype == np.uint16:  # how bfloat16 is written
                wide = (array.reshape(-1).astype("uint32") << 16).view("float32").reshape(array.shape)
                tensor = _C.to_tensor(wide, dtype=_C.bfloat16)
            else:
                tensor = _C.to_tensor(array)
            if name:
                tensor.name = name
            self._done[key] = tensor, array
        return self._done[key][0]


def _is_named(value):
    return (
        isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], np.ndarray)
    )


def _is_array(value):
    return isinstance(value, np.ndarray)


def _contains(value, wanted, seen):
    if wanted(value):
        return True
    if not isinstance(value, (dict, list, tuple)) or id(value) in seen:
        return False
    seen.add(id(value))
    return any(_contains(item, wanted, seen) for item in (value.values() if isinstance(value, dict) else value))
