"""Fields of protocol buffers as bytes: their number, then their contents. For the few messages of event files."""

import struct

import numpy as np

__all__ = ["bytes_field", "double_field", "doubles_field", "float_field", "integer_field", "varint"]


def varint(value):
    """A number in groups of seven bits, the lowest first."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def integer_field(field, value):
    """int64, uint64, enum or bool."""
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def double_field(field, value):
    """double"""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def float_field(field, value):
    """float"""
    return varint(field << 3 | 5) + struct.pack("<f", value)


def bytes_field(field, value):
    """bytes, text as UTF-8, or a message."""
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def doubles_field(field, values):
    """repeated double, packed"""
    return bytes_field(field, np.asarray(values, "<f8").tobytes())
