"""Arrays of numbers in files of MATLAB (format 5), as data sets have them for labels."""

import math
import struct
import zlib

import numpy as np

from proa import _C

__all__ = ["read_mat"]

# Data types of elements, as NumPy calls them.
_DTYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
# Classes of arrays of numbers.
_NUMERIC = range(6, 16)
# More than any file of labels unpacks to.
_MOST = 1 << 28


class Mismatch(ValueError):
    """What a damaged file says of itself; read_mat says which file."""


def read_mat(path):
    """{name: array} of the arrays of numbers in a file; what else there is, is left out.

    Raises:
        ValueError: the file is of another format, or damaged.
    """
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 128 or data[126:128] not in (b"IM", b"MI"):
        raise _C.located(ValueError(f"{path}: this is no file of MATLAB's format 5"))
    order = "<" if data[126:128] == b"IM" else ">"
    found = {}
    try:
        for kind, content in _elements(data[128:], order):
            if kind == _COMPRESSED:
                unpacker = zlib.decompressobj()
                text = unpacker.decompress(content, _MOST)
                if unpacker.unconsumed_tail:
                    raise Mismatch("an array is too big")
                kind, content = next(_elements(text, order))
            if kind == _MATRIX:
                _add_matrix(found, content, order)
    except (ValueError, struct.error, StopIteration, zlib.error, KeyError, IndexError) as error:
        raise _C.located(ValueError(f"{path}: the file is damaged ({error})")) from None
    return found


def _elements(data, order):
    """(type, bytes) of each element."""
    place = 0
    while place + 8 <= len(data):
        kind, size = struct.unpack_from(order + "II", data, place)
        if kind >> 16:  # a small one: its size and data beside its type
            kind, size, start = kind & 0xFFFF, kind >> 16, place + 4
            if size > 4:
                raise Mismatch("a small element is too big")
            place += 8
        else:
            start = place + 8
            place = start + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > len(data):
            raise Mismatch("it ends too early")
        yield kind, data[start : start + size]


def _add_matrix(found, content, order):
    parts = list(_elements(content, order))
    (_, flags), (_, dims), (_, name), *values = parts
    (flags,) = struct.unpack_from(order + "I", flags)
    if flags & 0xFF not in _NUMERIC or flags & 0x800 or not values:  # text, structures, complex numbers
        return
    shape = struct.unpack(f"{order}{len(dims) // 4}i", dims)
    kind, data = values[0]
    array = np.frombuffer(data, order + _DTYPES[kind])
    if min(shape) < 0 or math.prod(shape) != array.size:
        raise Mismatch(f"an array of {list(shape)} has {array.size} numbers")
    found[name.decode("latin1")] = array.reshape(shape, order="F")
