"""Protocol buffers as trees, without their definition: read, changed at random, written again.

A message is a list of [field number, wire type, value]; the value of a length-delimited field is a message if it reads
as one, else bytes. And the envelope that the files of programs have around them (jit/file_bytes.h).
"""

from __future__ import annotations

import copy
import random
import re
import struct

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class _NoMessage(Exception):
    pass


def _read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _NoMessage
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _write_varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read(data: bytes, depth: int = 0) -> list:
    """The fields of a message; raises if `data` is none."""
    if depth > 20:  # bytes that are a message in a message by chance
        raise _NoMessage
    fields, at = [], 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise _NoMessage
        if kind == _VARINT:
            value, at = _read_varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            value, at = data[at : at + size], at + size
        elif kind == _BYTES:
            size, at = _read_varint(data, at)
            value, at = data[at : at + size], at + size
            if len(value) != size:
                raise _NoMessage
            try:
                # Texts may read as messages by chance: what can be printed is a text.
                printable = all(32 <= byte < 127 for byte in value)
                value = value if printable else read(value, depth + 1)
            except _NoMessage:
                pass
        else:
            raise _NoMessage
        if at > len(data):
            raise _NoMessage
        fields.append([number, kind, value])
    return fields


def write(fields: list) -> bytes:
    out = bytearray()
    for number, kind, value in fields:
        out += _write_varint(number << 3 | kind)
        if kind == _VARINT:
            out += _write_varint(value)
        elif kind == _BYTES:
            inner = write(value) if isinstance(value, list) else value
            out += _write_varint(len(inner)) + inner
        else:
            out += value
    return bytes(out)


def _messages(fields):
    yield fields
    for _, _, value in fields:
        if isinstance(value, list):
            yield from _messages(value)


_NUMBERS = (0, 1, 2, 3, 7, 127, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def change(fields: list, r: random.Random) -> None:
    """One change at a random place: a number, a text, a field taken away, doubled or moved."""
    message = r.choice([m for m in _messages(fields) if m] or [fields])
    if not message:
        return
    i = r.randrange(len(message))
    number, kind, value = message[i]
    what = r.random()
    if what < 0.5 and kind == _VARINT:
        message[i][2] = r.choice((r.choice(_NUMBERS), value ^ 1, value + 1, value + 2, max(0, value - 2)))
    elif what < 0.5 and isinstance(value, bytes) and value:
        at = r.randrange(len(value))
        message[i][2] = value[:at] + bytes([r.randrange(256)]) * r.choice((0, 1, 1, 9)) + value[at + 1 :]
    elif what < 0.6:
        del message[i]
    elif what < 0.7:
        message.insert(r.randint(0, len(message)), copy.deepcopy(message[i]))
    elif what < 0.8:
        j = r.randrange(len(message))
        message[i], message[j] = message[j], message[i]
    elif what < 0.9:
        others = [f for m in _messages(fields) for f in m if f[1] == kind]
        # A copy: a message that holds itself has no end.
        message[i][2] = copy.deepcopy(r.choice(others)[2])
    else:
        message[i][0] = r.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 99))


# The text of a program ------------------------------------------------------------------

_TOKEN = re.compile(r"%\d+|-?\d[\d.e+-]*|\w+|[^\w\s]")
_OTHER_TOKENS = (
    "0", "1", "-1", "7", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e999", "nan", "None",
    "true", "[]", "?", "%0", "%1", "%99", "-", "(", ")", "{", "}", '"', ",", "float32", "int64", "complex64", "bool",
    "return", "cond", "while", "captured", "input", "argument", "\\x", "[" * 300, "cond(%0) {" * 300,
)  # fmt: skip


def changed_text(text: str, number: int) -> str:
    """A program's text with words or lines exchanged, doubled or taken away."""
    r = random.Random(number)
    for _ in range(r.choice((1, 1, 2, 4))):
        words = list(_TOKEN.finditer(text))
        if r.random() < 0.25:
            lines = text.split("\n")
            i, j = r.randrange(len(lines)), r.randrange(len(lines))
            what = r.random()
            if what < 0.4:
                del lines[i]
            elif what < 0.7:
                lines.insert(j, lines[i])
            else:
                lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
        elif words:
            word = r.choice(words)
            new = r.choice(words)[0] if r.random() < 0.5 else r.choice(_OTHER_TOKENS)
            text = text[: word.start()] + new + text[word.end() :]
    return text


# The envelope: magic, size, CRC-32C, zero, payload ------------------------------------

_HEADER = 24


def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def sealed(magic: bytes, payload: bytes) -> bytes:
    return magic + struct.pack("<QII", len(payload), crc32c(payload), 0) + payload


def changed_file(data: bytes, how: str, number: int) -> bytes:
    """A program file changed: `bytes` anywhere, `payload` below a checksum that is right, or by its `structure`."""
    r = random.Random(number)
    magic, payload = data[:8], data[_HEADER:]
    if how == "structure":
        fields = read(payload)
        for _ in range(r.choice((1, 1, 1, 2, 4))):
            change(fields, r)
        return sealed(magic, write(fields))
    changed = bytearray(payload if how == "payload" else data)
    for _ in range(r.choice((1, 1, 2, 8))):
        if not changed:
            break
        at = r.randrange(len(changed))
        changed[at : at + r.choice((1, 1, 1, 4))] = bytes(r.randrange(256) for _ in range(r.choice((0, 1, 1, 1, 4))))
    return sealed(magic, bytes(changed)) if how == "payload" else bytes(changed)
